"""Each request begins with the one before it, byte for byte, whatever happened in between."""

import asyncio
import json
from typing import Any

import pytest

from psych_runtime import Limits, Store, answer, approve, interrupt, send
from psych_runtime.testing.http_stub import Raw, Reply, SeenRequest
from psych_runtime_core.records.facts import ToolOutcome
from tests.e2e.stage import agent, at_work, begun, ended, registered, results, seen
from tests.e2e.wire import answer_asked, bodies, event, extend, failed, provider, said

PATIENT = Limits(max_turns=100, max_steps=1_000, repeat_call_threshold=100, repeat_call_hard_stop=200)
HURRY = "Hurry, please."


async def look(n: int) -> str:
    """Look something up."""
    return f"seen {n}"


class Slow:
    """A tool that is not done before it may be."""

    def __init__(self) -> None:
        self.began, self.may_end = asyncio.Event(), asyncio.Event()

    async def dig(self, n: int) -> str:
        """Dig something up."""
        self.began.set()
        await self.may_end.wait()
        return f"dug {n}"


def messages(body: bytes, role: str) -> list[dict[str, Any]]:
    """Those of one role in a request."""
    return [message for message in json.loads(body)["messages"] if message["role"] == role]


def told(body: bytes) -> list[str]:
    """The results in a request."""
    return [message["content"] for message in messages(body, "tool")]


async def test_over_fifty_turns_with_a_steer_and_a_worker_that_hands_over(store: Store) -> None:
    turns = 50

    def reply(request: SeenRequest) -> Reply:
        n = answer_asked(request)
        return said("Done.") if n > turns else said(calls=[("look", {"n": n}), ("look", {"n": -n})])

    async with provider(reply) as (stub, client):
        run_id = await begun(store, agent("look", limits=PATIENT))
        async with at_work(store, client, registered(look)):
            await seen(store, run_id, lambda state: state.lanes[""].turn >= turns // 2)
            await send(store, run_id, message="Go on.")
        async with at_work(store, client, registered(look)):
            await ended(store, run_id)
        asked = bodies(stub.requests)
    assert (await answer(store, run_id)).result() == "Done."
    # One call may have been cut short by the Worker that stopped, and was made again.
    distinct = list(dict.fromkeys(asked))
    assert len(distinct) == turns + 1
    assert extend(distinct)
    assert b"Go on." in distinct[-1]


@pytest.mark.parametrize("dialect", ["other", "mistral"])
async def test_reasoning_goes_back_and_stays_where_it_was(store: Store, dialect: str) -> None:
    thoughts = ["Hm.", "", "So it is.", "Wait …", ""]

    def reply(request: SeenRequest) -> Reply:
        n = answer_asked(request)
        if n > len(thoughts):
            return said("Done.", thought="Enough.")
        return said(f"Answer {n}.", calls=[("look", {"n": n})], thought=thoughts[n - 1])

    async with provider(reply, dialect=dialect) as (stub, client), at_work(store, client, registered(look)):
        await ended(store, await begun(store, agent("look", limits=PATIENT)))
        asked = bodies(stub.requests)
    assert extend(asked)
    shown = [each.get("reasoning_content", "") for each in messages(asked[len(thoughts)], "assistant")]
    assert shown == thoughts


# --- results that come late ------------------------------------------------------------------------------


def digging(request: SeenRequest) -> Reply:
    """Two calls side by side, one more, and an answer."""
    match answer_asked(request):
        case 1:
            return said("Both.", calls=[("dig", {"n": 1}), ("look", {"n": 2})], thought="Hm.")
        case 2:
            return said(calls=[("look", {"n": 3})])
        case _:
            return said("Done.")


async def test_a_result_later_than_another_and_than_a_steer_stands_behind_its_call(store: Store) -> None:
    slow = Slow()
    tools = registered(slow.dig, look)
    async with provider(digging) as (stub, client), at_work(store, client, tools):
        run_id = await begun(store, agent("dig", "look"))
        await slow.began.wait()
        await seen(store, run_id, lambda state: len(state.calls) == 1)
        await send(store, run_id, message=HURRY)
        slow.may_end.set()
        await ended(store, run_id)
        asked = bodies(stub.requests)
    assert [end.tool for end in await results(store, run_id)] == ["look", "dig", "look"]
    assert extend(asked)
    assert told(asked[-1]) == ["dug 1", "seen 2", "seen 3"]
    assert asked[1].index(b"seen 2") < asked[1].index(HURRY.encode())


async def test_a_result_that_waited_for_a_person_and_another_worker_does_too(store: Store) -> None:
    slow = Slow()
    slow.may_end.set()
    tools = registered(look, annotations="read-only")
    tools.register(slow.dig, annotations="destructive")
    async with provider(digging) as (stub, client):
        run_id = await begun(store, agent("dig", "look"))
        async with at_work(store, client, tools):
            await seen(store, run_id, lambda state: state.parked)
            await send(store, run_id, message=HURRY)
        await approve(store, run_id)
        async with at_work(store, client, tools):
            await ended(store, run_id)
        asked = bodies(stub.requests)
    assert extend(asked)
    assert told(asked[-1]) == ["dug 1", "seen 2", "seen 3"]
    assert asked[1].index(b"seen 2") < asked[1].index(HURRY.encode())


async def test_a_result_that_comes_after_an_interrupt_is_sent_to_nobody(store: Store) -> None:
    slow = Slow()
    tools = registered(slow.dig, look, interruptible=False)
    async with provider(digging) as (stub, client), at_work(store, client, tools):
        run_id = await begun(store, agent("dig", "look"))
        await slow.began.wait()
        await interrupt(store, run_id)
        slow.may_end.set()
        state = await ended(store, run_id)
        asked = bodies(stub.requests)
    assert state.terminal_state == "aborted"
    assert ("dig", ToolOutcome.OK) in [(end.tool, end.outcome) for end in await results(store, run_id)]
    assert len(asked) == 1


# --- tries that fail ---------------------------------------------------------------------------------------

BUSY = Reply(status=503, headers={"retry-after": "0"}, json={"error": {"message": "Busy."}})
CUT = Raw(
    (
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n",
        event(delta={"reasoning_content": "Lost."}),
        event(delta={"content": "Half an ans"}),
    )
)


@pytest.mark.parametrize(
    "failure", [pytest.param(BUSY, id="refused"), pytest.param(CUT, id="cut off in mid-answer")]
)
async def test_a_retry_is_the_request_that_failed_and_leaves_no_trace(
    store: Store, failure: Reply | Raw
) -> None:
    first, second = (said(calls=[("look", {"n": n})], thought=f"Thought {n}.") for n in (1, 2))
    replies = (first, failure, second, said("Done."))
    async with provider(*replies) as (stub, client), at_work(store, client, registered(look)):
        run_id = await begun(store, agent("look"))
        await ended(store, run_id)
        asked = bodies(stub.requests)
    assert (await answer(store, run_id)).result() == "Done."
    assert asked[1] == asked[2]
    assert extend([asked[0], *asked[2:]])
    assert b"Half an ans" not in asked[-1]


async def test_each_model_of_a_fallback_is_asked_what_extends_its_own_requests(store: Store) -> None:
    spec = agent("look").model_copy(update={"model": {"model": "first", "fallbacks": ["second"]}})

    def reply(request: SeenRequest) -> Reply:
        n, model = answer_asked(request), request.json["model"]
        if model == "first" and n in {2, 4}:
            return failed(429, message="Slow down.", code="rate_limit_exceeded")
        if n > 5:
            return said("Done.")
        return said(calls=[("look", {"n": n})], thought=f"{model} thinks {n}.")

    async with provider(reply) as (stub, client), at_work(store, client, registered(look)):
        run_id = await begun(store, spec)
        await ended(store, run_id)
        asked = bodies(stub.requests)
    assert (await answer(store, run_id)).result() == "Done."
    first, second = (
        [body for body in asked if json.loads(body)["model"] == name] for name in ("first", "second")
    )
    assert [json.loads(body)["model"] for body in asked[:6]] == ["first", "first", "second"] * 2
    assert (len(first), len(second)) == (len(asked) - 2, 2)
    assert extend(first)
    assert extend(second)
    assert told(second[-1]) == told(first[3]) == ["seen 1", "seen 2", "seen 3"]
    assert not any(b"second thinks" in body for body in first)
    assert not any(b"first thinks" in body for body in second)
