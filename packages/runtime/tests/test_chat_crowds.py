"""How much of one event is looked at: a bound, and a cost that grows no faster than the event."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from datetime import UTC, datetime
from threading import get_ident
from types import SimpleNamespace
from typing import Any

import anyio
import pytest

from packages.runtime.tests.chat_chunks import (
    ERRORS,
    Chunk,
    call,
    calls,
    delta,
    events_of,
    finish,
    read,
    text,
)
from packages.runtime.tests.client_scenes import (
    DONE,
    asked,
    context,
    event,
    failing,
    serving,
    streamed,
    text_of,
)
from packages.runtime.tests.effort import effort_of
from psych_runtime.model.chat.reply.payload import read_payload
from psych_runtime.model.chat.reply.pieces import DEFAULT_PATIENCE
from psych_runtime.model.chat.reply.reading import MAX_EVENT_BYTES, Reading, reply_events
from psych_runtime.model.chat.reply.stream import ChatStream
from psych_runtime.model.values import MAX_VALUES, too_many
from psych_runtime.testing.assemble import assemble
from psych_runtime.testing.http_stub import Reply
from psych_runtime_core.arguments import MAX_ARGUMENTS_BYTES
from psych_runtime_core.errors import ModelError, ModelErrorKind
from psych_runtime_core.frozen import MAX_DEPTH
from psych_runtime_core.ports.model import StreamEvent, TextDelta

EMPTY: list[object] = []
NOTHING: Chunk = {}
# Of each kind a chunk with so many pieces.
CROWDS: dict[str, Callable[[int], Chunk]] = {
    "fragments": lambda n: calls(call(0, "a", "f", ""), *[call(0, None, None, "x")] * n),
    "fragments of nobody": lambda n: calls(*named(200), *[{"function": {"arguments": " "}}] * n),
    "fragments that repeat": lambda n: calls(
        *named(200), *[{"id": "c7", "function": {"arguments": "{}"}}] * n
    ),
    "fragments of keys": lambda n: calls(call(0, "a", "f", ""), *({f"k{i}": i} for i in range(n))),
    "fragments that say nothing": lambda n: calls(*[NOTHING, 1, None] * n),
    "text": lambda n: text([{"type": "text", "text": "x"}] * n),
    "numbers": lambda n: text([1] * n),
    "unknown parts": lambda n: text([{"type": "x", "v": i} for i in range(n)]),
    "one unknown part": lambda n: text([{"type": "x", "v": [EMPTY] * n}]),
    "thoughts": lambda n: text([{"type": "thinking", "thinking": "x", "signature": "s"}] * n),
    "a thought in pieces": lambda n: text([{"type": "thinking", "thinking": ["x"] * n}]),
    "items": lambda n: delta(reasoning_details=[{"type": "x", "data": "y"}] * n),
    "keys of an item": lambda n: delta(reasoning_details=[{f"k{i}": i for i in range(n)}]),
    "reasoning": lambda n: delta(reasoning=["x"] * n),
    "pictures": lambda n: delta(images=[{"x": 1}] * n),
    "arguments": lambda n: calls(call(0, "a", "f", [EMPTY] * n)),
    "a whole message": lambda n: {"choices": [{"message": text([{"text": "x"}] * n)["choices"][0]["delta"]}]},
}


def named(number: int) -> list[Chunk]:
    return [call(i, f"c{i}", "f", "{}") for i in range(number)]


@pytest.mark.parametrize("crowd", CROWDS.values(), ids=CROWDS)
def test_eight_times_the_pieces_cost_eight_times_as_much(crowd: Callable[[int], Chunk]) -> None:
    def cost(pieces: int) -> int:
        stream = ChatStream(ERRORS)
        stream.feed(calls())
        chunk = crowd(pieces)
        return effort_of(lambda: stream.feed(chunk))

    assert cost(1_600) <= 10 * cost(200)


def test_arguments_that_are_no_text_may_hold_as_many_values_as_have_room() -> None:
    rows = list(range(10)) * (MAX_ARGUMENTS_BYTES // len("0,") // 10)
    told = read(calls(call(0, "a", "f", rows)), finish())
    assert json.loads(told.message.tool_calls[0].arguments) == rows
    with pytest.raises(ModelError) as caught:
        events_of(calls(call(0, "a", "f", rows + rows[:20])))
    assert (caught.value.kind, caught.value.code) == (ModelErrorKind.PERMANENT, "answer_too_large")


def test_a_whole_answer_may_come_with_all_the_figures_that_have_room() -> None:
    other = {"token": " international", "logprob": -17.234375, "bytes": [*b" international"]}
    figures = [{**other, "top_logprobs": [other] * 20}] * (MAX_EVENT_BYTES // 20 // 150)
    reply = {"choices": [{"message": {"content": "Hello"}, "logprobs": {"content": figures}}]}
    (chunk,) = read_payload(json.dumps(reply, separators=(",", ":")), ERRORS).chunks
    assert text_of(events_of(chunk, finish())) == "Hello"


@pytest.mark.parametrize(
    "beside",
    [
        pytest.param({"obfuscation": [EMPTY] * MAX_VALUES}, id="of the chunk"),
        pytest.param(
            {"choices": [{"delta": {"content": "Hello"}, "logprobs": {"content": [1] * MAX_VALUES}}]},
            id="of the choice",
        ),
    ],
)
def test_what_nobody_looks_at_may_be_as_long_as_it_is(beside: dict[str, Any]) -> None:
    assert text_of(events_of({**text("Hello"), **beside}, finish())) == "Hello"


@pytest.mark.parametrize(
    ("value", "values"),
    [(1, 0), (EMPTY, 0), ([1, 2], 2), ({"a": [1, {"b": (2, 3)}]}, 6), ([[[EMPTY]]], 3), ("long text", 0)],
    ids=repr,
)
def test_values_are_counted_at_any_depth(value: object, values: int) -> None:
    assert not too_many(value, values)
    assert too_many(value, values - 1)


# --- one bound of private matter, here and where it is kept -----------------------------------------------


def nested(levels: int) -> object:
    value: object = EMPTY
    for _ in range(levels - 1):
        value = [value]
    return value


HOLDERS: dict[str, Callable[[object], Chunk]] = {
    "a call": lambda value: calls({**call(0, "a", "f", "{}"), "x": value}),
    "a function": lambda value: calls({"index": 0, "id": "a", "function": {"name": "f", "x": value}}),
    "an unknown part": lambda value: text([{"type": "x", "v": value}]),
    "a thought": lambda value: text([{"type": "thinking", "thinking": "hm", "x": value}]),
    "an item": lambda value: delta(reasoning_details=[{"type": "x", "v": value}]),
    "reasoning": lambda value: delta(reasoning={"x": value}),
    "a picture": lambda value: delta(images=[{"x": value}]),
}


@pytest.mark.parametrize("hold", HOLDERS.values(), ids=HOLDERS)
def test_what_passes_the_client_can_be_kept(hold: Callable[[object], Chunk]) -> None:
    outcomes: list[str] = []
    for levels in range(MAX_DEPTH - 8, MAX_DEPTH + 3):
        try:
            events = events_of(hold(nested(levels)), text("x"), finish())
        except ModelError as error:
            outcomes.append(f"{error.kind} {error.code}")
            continue
        assemble(events)
        outcomes.append("kept")
    assert set(outcomes) == {"kept", "transient malformed_event"}
    assert outcomes == sorted(outcomes)


@pytest.mark.parametrize("hold", HOLDERS.values(), ids=HOLDERS)
def test_neither_has_more_room_for_values(hold: Callable[[object], Chunk]) -> None:
    outcomes: list[str | None] = []
    for number in (MAX_VALUES - 8, MAX_VALUES - 1, MAX_VALUES + 1):
        try:
            events = events_of(hold([1] * number), text("x"), finish())
        except ModelError as error:
            outcomes.append(error.code)
            continue
        assemble(events)
        outcomes.append("")
    assert set(outcomes) == {"", "answer_too_large"}
    assert outcomes == sorted(outcomes, key=str)


# --- others run meanwhile -------------------------------------------------------------------------------


class Others:
    """Those who run beside a call: how often they had a turn, and how often when each text came."""

    def __init__(self) -> None:
        self.turns = 0
        self.at_texts: list[int] = []

    async def run(self) -> None:
        while True:
            await anyio.lowlevel.checkpoint()
            self.turns += 1

    async def beside(self, *replies: Reply) -> None:
        async with (
            serving(*replies) as (_, client),
            anyio.create_task_group() as group,
            aclosing(client.stream(asked(), context())) as stream,
        ):
            group.start_soon(self.run)
            async for told in stream:
                if isinstance(told, TextDelta):
                    self.at_texts.append(self.turns)
            group.cancel_scope.cancel()


def in_one_event(*chunks: Chunk) -> bytes:
    return b"".join(b"data: %b\n" % json.dumps(chunk).encode() for chunk in chunks) + b"\n"


WHOLE: Any = {"choices": [{"message": text([{"type": "text", "text": "x"}] * 1_000)["choices"][0]["delta"]}]}


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(streamed(in_one_event(*[text("x" * 600)] * 1_000), event(finish()), DONE), id="chunks"),
        pytest.param(streamed(event(WHOLE), event(finish()), DONE), id="parts of one chunk"),
        pytest.param(Reply(json=WHOLE), id="parts of one document"),
    ],
)
async def test_an_event_of_many_texts_stops_nobody_else(reply: Reply) -> None:
    others = Others()
    await others.beside(reply)
    assert len(others.at_texts) == 1_000
    assert len(set(others.at_texts)) > 5


async def test_what_stands_before_an_error_in_one_event_is_told_before_it() -> None:
    error = {"error": {"message": "boom", "code": 500}}
    async with serving(streamed(in_one_event(text("Hel"), text("lo"), error, text("?")))) as (_, client):
        came, broken = await failing(client)
    assert came == "Hello"
    assert "boom" in str(broken)


MESSAGE: Any = {"content": "Hello", "tool_calls": [call(0, "a", "f", [1] * 100_000)]}
LARGE: Any = {"choices": [{"message": MESSAGE, "finish_reason": "stop"}]}


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(Reply(json=LARGE), id="in JSON"),
        pytest.param(streamed(event(LARGE), DONE), id="in one event"),
        pytest.param(streamed(in_one_event(LARGE, *[NOTHING] * 40), DONE), id="among small ones"),
    ],
)
async def test_a_chunk_of_many_values_stops_nobody_else(
    reply: Reply, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each value is looked at elsewhere, so that the loop has its turns meanwhile."""
    seen, others = threads_of("feed", monkeypatch), Others()
    await others.beside(reply)
    assert len(others.at_texts) == 1
    assert seen
    assert get_ident() not in seen


async def test_events_that_let_nothing_out_stop_nobody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    others, turns, feed = Others(), list[int](), ChatStream.feed

    def noted(*given: Any) -> list[StreamEvent]:
        turns.append(others.turns)
        return feed(*given)

    async def at_once() -> AsyncGenerator[bytes]:
        yield event(details) * 7 + event(finish()) + DONE

    monkeypatch.setattr(ChatStream, "feed", noted)
    details = delta(reasoning_details=[{"index": 0, "data": "x" * 60_000}])
    reply: Any = SimpleNamespace(status_code=200, headers={}, aiter_raw=at_once)
    reading = Reading(ERRORS, "http://127.0.0.1", DEFAULT_PATIENCE)
    async with anyio.create_task_group() as group:
        group.start_soon(others.run)
        async for _ in reply_events(reply, ChatStream(ERRORS), reading, datetime.now(UTC)):
            pass
        group.cancel_scope.cancel()
    assert len(set(turns)) > 2


@pytest.mark.parametrize(
    ("events", "beside"), [pytest.param(10, False, id="small"), pytest.param(1_000, True, id="large")]
)
async def test_what_waited_for_the_end_of_a_long_answer_stops_nobody_else(
    events: int, beside: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = threads_of("end", monkeypatch)
    items = [event(delta(reasoning_details=[{"index": number, "data": "x"}])) for number in range(events)]
    await Others().beside(streamed(b"".join(items), event(finish()), DONE))
    (thread,) = seen
    assert (thread != get_ident()) == beside


def threads_of(method: str, monkeypatch: pytest.MonkeyPatch) -> set[int]:
    """The threads in which a method of a reply will run."""
    seen, run = set[int](), getattr(ChatStream, method)

    def noted(*given: Any) -> list[StreamEvent]:
        seen.add(get_ident())
        heard: list[StreamEvent] = run(*given)
        return heard

    monkeypatch.setattr(ChatStream, method, noted)
    return seen
