"""Whole Runs whose model is behind a LiteLLM proxy."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from itertools import cycle

import pytest

from psych_runtime import OpenAICompatibleClient, Store, answer, dispatch, interrupt, records, report
from psych_runtime.testing.http_stub import Reply, SeenRequest
from psych_runtime_core.records.turn import ModelCallFailed, ModelCallFinished
from tests.chaos.relay import relayed
from tests.chaos.stage import OVERFLOW, USAGE, Provider, asking, busy, client_of, refused
from tests.e2e.stage import ACME, at_work, begun, ended, only, registered
from tests.e2e.wire import event, said, silent


async def look(n: int) -> str:
    """Look something up."""
    return f"seen {n}"


async def test_a_reply_of_the_proxy_itself_is_an_answer(store: Store, client: OpenAICompatibleClient) -> None:
    async with at_work(store, client):
        run_id = await begun(store, asking("mocked"))
        await ended(store, run_id)
    assert (await answer(store, run_id)).result() == "Plainly said."
    (call,) = only(ModelCallFinished, await records(store, run_id))
    assert call.usage is not None
    assert min(call.usage.input, call.usage.output) > 0


async def test_a_tool_is_called_and_its_result_reaches_the_provider(
    store: Store, client: OpenAICompatibleClient, provider: Provider
) -> None:
    provider.says(
        said("Let me look.", calls=[("look", {"n": 7}), ("look", {"n": 8})], usage=USAGE),
        said("Seen both.", usage=USAGE),
    )
    async with at_work(store, client, registered(look)):
        run_id = await begun(store, asking("relayed", "look"))
        await ended(store, run_id)
    assert (await answer(store, run_id)).result() == "Seen both."
    first, second = provider.requests
    assert [tool["function"]["name"] for tool in first.json["tools"]] == ["look"]
    *_, called, seen, also_seen = second.json["messages"]
    assert called["content"] == "Let me look."
    assert [call["function"]["arguments"] for call in called["tool_calls"]] == ['{"n": 7}', '{"n": 8}']
    ids = [call["id"] for call in called["tool_calls"]]
    assert [(each["role"], each["content"]) for each in (seen, also_seen)] == [
        ("tool", "seen 7"),
        ("tool", "seen 8"),
    ]
    assert [each["tool_call_id"] for each in (seen, also_seen)] == ids


async def test_what_the_proxy_charges_is_what_is_recorded(
    store: Store, client: OpenAICompatibleClient, provider: Provider
) -> None:
    provider.says(said(calls=[("look", {"n": 7})], usage=USAGE), said("Seen.", usage=USAGE))
    async with at_work(store, client, registered(look), runtime={"prices": None}):
        run_id = await begun(store, asking("relayed", "look"))
        await ended(store, run_id)
    totals = (await report(store, run_id)).totals
    assert totals.usage is not None
    assert (totals.usage.input, totals.usage.output) == (2_000, 20)
    assert totals.cost is not None
    assert (totals.cost.amount, totals.cost.source) == (Decimal("0.0042"), "provider")


async def test_a_busy_provider_is_asked_again_and_not_too_early(
    store: Store, client: OpenAICompatibleClient, provider: Provider
) -> None:
    seen_at: list[float] = []

    def reply(_: SeenRequest) -> Reply:
        seen_at.append(time.monotonic())
        return busy("2") if len(seen_at) == 1 else said("Here.", usage=USAGE)

    provider.says(reply)
    async with at_work(store, client):
        run_id = await begun(store, asking("relayed"))
        await ended(store, run_id)
    assert (await answer(store, run_id)).result() == "Here."
    (failure,) = only(ModelCallFailed, await records(store, run_id))
    assert (failure.failure.kind, failure.next) == ("transient", "retry")
    assert "Slow down." in failure.failure.message
    assert failure.retry_at is not None
    assert (failure.retry_at - failure.at).total_seconds() >= 2
    earlier, later = seen_at
    assert later - earlier >= 2


@pytest.mark.parametrize("first", ["relayed", "refused"])
async def test_a_fallback_is_asked_at_once(
    first: str, store: Store, client: OpenAICompatibleClient, provider: Provider
) -> None:
    """Whether the proxy itself answers 429, or hands on that of the provider."""
    provider.says(busy("30"))
    async with at_work(store, client):
        run_id = await begun(store, asking(first, fallbacks=("mocked",)))
        await ended(store, run_id)
    assert (await answer(store, run_id)).result() == "Plainly said."
    (failure,) = only(ModelCallFailed, await records(store, run_id))
    assert (failure.failure.kind, failure.next_model, failure.retry_at) == ("transient", "mocked", None)


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        pytest.param(refused(401, "Incorrect API key.", code="invalid_api_key"), "auth", id="a bad key"),
        pytest.param(
            refused(400, OVERFLOW, code="context_length_exceeded"), "context_overflow", id="too much context"
        ),
        pytest.param(refused(400, "Unknown field."), "permanent", id="a request that is none"),
    ],
)
async def test_what_no_repetition_helps_ends_the_run(
    reply: Reply, kind: str, store: Store, client: OpenAICompatibleClient, provider: Provider
) -> None:
    provider.says(reply)
    async with at_work(store, client):
        run_id = await begun(store, asking("relayed", fallbacks=("mocked",)))
        state = await ended(store, run_id)
    assert state.settled is not None
    assert state.settled.failure is not None
    assert state.settled.failure.kind == kind
    assert len(provider.requests) == 1


async def test_an_interrupt_in_the_text_closes_the_sockets_up_to_the_provider(
    store: Store, client: OpenAICompatibleClient, provider: Provider
) -> None:
    """The proxy leaves the provider when we leave the proxy, and not before."""
    provider.says(silent(event(delta={"content": "Well"})))
    async with at_work(store, client):
        run_id = await begun(store, asking("relayed"))
        request = await provider.asked()
        await interrupt(store, run_id)
        async with asyncio.timeout(1):
            await request.closed_early()
        state = await ended(store, run_id)
    assert state.terminal_state == "aborted"


async def test_an_interrupt_before_the_first_byte_closes_the_socket(
    store: Store, proxy_url: str, provider: Provider
) -> None:
    """The proxy then waits for its provider all the same, so we look at our own connection to it."""
    late = asyncio.Event()
    provider.says(replace(said("Too late."), gate=late))
    async with relayed(proxy_url) as relay, client_of(relay.url) as client, at_work(store, client):
        run_id = await begun(store, asking("relayed"))
        await provider.asked()
        assert not relay.left.is_set()
        await interrupt(store, run_id)
        async with asyncio.timeout(1):
            await relay.left.wait()
        state = await ended(store, run_id)
        late.set()
    assert state.terminal_state == "aborted"


def faults() -> Callable[[SeenRequest], Reply]:
    """Each conversation's first call fails, in one way after another; its second one is answered."""
    broken = b'data: {"error": {"message": "Overloaded.", "code": 503}}\n\n'
    ways = cycle(
        [
            busy("0"),
            refused(500, "Boom."),
            refused(503, "Overloaded."),
            refused(408, "Too slow."),
            Reply(
                headers={"content-type": "text/event-stream"}, chunks=(event(delta={"content": "H"}), broken)
            ),
        ]
    )
    calls: Counter[str] = Counter()

    def reply(request: SeenRequest) -> Reply:
        question = request.json["messages"][-1]["content"]
        calls[question] += 1
        return next(ways) if calls[question] == 1 else said(f"Answer to {question}", usage=USAGE)

    return reply


async def test_many_runs_at_once_come_through_a_provider_that_fails_in_every_way(
    store: Store, client: OpenAICompatibleClient, provider: Provider
) -> None:
    provider.says(faults())
    questions = [f"question {number}" for number in range(20)]
    async with at_work(store, client, concurrency=20):
        begun_runs = [await dispatch(store, asking("relayed"), ACME, input=each) for each in questions]
        run_ids = [each.run_id for each in begun_runs]
        await asyncio.gather(*(ended(store, run_id) for run_id in run_ids))
    answers = [(await answer(store, run_id)).result() for run_id in run_ids]
    assert answers == [f"Answer to {each}" for each in questions]
    failures = [only(ModelCallFailed, await records(store, run_id)) for run_id in run_ids]
    assert [[each.failure.kind for each in of_run] for of_run in failures] == [["transient"]] * len(questions)
