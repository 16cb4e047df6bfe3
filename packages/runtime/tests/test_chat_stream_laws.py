"""Whatever a provider sends, a reply is a lawful stream or a `ModelError`; how it was cut changes nothing."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import partial
from itertools import count, cycle
from typing import Any, cast

from hypothesis import given
from hypothesis import strategies as st

from packages.runtime.tests.chat_chunks import (
    ERRORS,
    Chunk,
    call,
    calls,
    choice,
    delta,
    events_of,
    finish,
    text,
)
from psych_runtime.model.chat.reply.stream import ChatStream
from psych_runtime.testing.assemble import assemble
from psych_runtime_core.errors import ModelError
from psych_runtime_core.messages import AssistantMessage
from psych_runtime_core.ports.model import (
    OpaqueDelta,
    ReasoningDelta,
    RefusalDelta,
    StreamDone,
    StreamEvent,
    TextDelta,
    ToolCallDelta,
)

# What a model says: prose of some field, or a call, in an order of its own.
PROSE = st.tuples(
    st.sampled_from(["content", "refusal", "reasoning", "reasoning_content"]), st.text(min_size=1)
)
ARGUMENTS = st.dictionaries(st.text(), st.text() | st.integers(), min_size=1, max_size=3).map(json.dumps)
CALL = st.tuples(st.sampled_from(["look", "find"]), ARGUMENTS)
ANSWER = st.lists(PROSE | CALL, min_size=1, max_size=6)
CUTS = st.lists(st.integers(1, 9), min_size=1, max_size=5)


def streamed(answer: list[tuple[str, str]], cuts: list[int]) -> Iterator[Chunk]:
    """An answer in chunks of so many UTF-16 units: the halves of a character come apart."""
    sizes, numbers = cycle(cuts), count()
    for name, said in answer:
        if name in ("look", "find"):
            number = next(numbers)
            yield calls(call(number, f"c{number}", name, ""))
            yield from (calls(call(number, None, None, piece)) for piece in pieces(said, sizes))
        else:
            yield from (delta(**{name: piece}) for piece in pieces(said, sizes))
    yield finish()


def pieces(said: str, sizes: Iterator[int]) -> Iterator[str]:
    units = said.encode("utf-16-le")
    while units:
        size = 2 * next(sizes)
        yield "".join(
            units[at : at + 2].decode("utf-16-le", "surrogatepass") for at in range(0, len(units[:size]), 2)
        )
        units = units[size:]


def message_of(chunks: Iterator[Chunk]) -> AssistantMessage:
    return assemble(events_of(*chunks))


@given(ANSWER, CUTS)
def test_an_answer_is_one_message_however_it_was_cut(answer: list[tuple[str, str]], cuts: list[int]) -> None:
    assert message_of(streamed(answer, cuts)) == message_of(streamed(answer, [10_000]))


@given(st.lists(CALL, min_size=1, max_size=4), CUTS)
def test_calls_that_are_cut_are_the_calls_that_were_made(
    called: list[tuple[str, str]], cuts: list[int]
) -> None:
    made = message_of(streamed(called, cuts)).tool_calls
    assert [(one.name, one.arguments) for one in made] == called


# --- laws ----------------------------------------------------------------------------------------------

USAGE = {
    "prompt_tokens": 7,
    "completion_tokens": 2,
    "prompt_tokens_details": {"cached_tokens": 3},
    "cost": 0.5,
}
GOOD: list[Chunk] = [
    text("Hel"),
    text(
        [{"type": "text", "text": "lo"}, {"type": "thinking", "thinking": [{"text": "Hm."}]}, {"type": "odd"}]
    ),
    delta(reasoning_content="So", reasoning_details=[{"type": "reasoning.text", "index": 0, "text": "So"}]),
    delta(refusal="No.", images=[{"image_url": {"url": "https://img.example/a.png"}}]),
    delta(
        thinking_blocks=[{"type": "thinking", "thinking": "So.", "signature": "s"}], reasoning={"text": "x"}
    ),
    calls({**call(0, "a", "look", '{"at"'), "extra": {"x": 1}}, call(1, "b", "find", "{}")),
    calls(call(0, None, None, ": 1}")),
    delta(function_call={"name": "old", "arguments": "{}"}),
    choice(message={"content": "Hello", "tool_calls": [call(None, "c", "more", {"deep": [1]})]}),
    {**finish("tool_calls"), "usage": USAGE, "x_groq": {"usage": USAGE}},
    {"choices": [], "cost": "0.1", "_hidden_params": {"response_cost": 0.25}},
]
STRANGE: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.decimals() | st.text(st.characters(), max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner, max_size=2),
    max_leaves=4,
)


def places(value: object) -> Iterator[tuple[Any, Any]]:
    """Every place in a JSON value, as the container and the key or index in it."""
    inner: list[tuple[Any, Any]] = []
    if isinstance(value, dict):
        inner = list(cast("dict[str, Any]", value).items())
    elif isinstance(value, list):
        inner = list(enumerate(cast("list[object]", value)))
    for key, item in inner:
        yield value, key
        yield from places(item)


@given(st.data())
def test_a_spoilt_reply_is_a_lawful_stream_or_a_model_error(data: st.DataObject) -> None:
    chunks: list[Any] = deepcopy(GOOD)
    for _ in range(data.draw(st.integers(1, 4))):
        holder, key = data.draw(st.sampled_from(list(places(chunks))))
        if data.draw(st.booleans()):
            del holder[key]
        else:
            holder[key] = data.draw(STRANGE)
        if not chunks:
            break
    try:
        events = events_of(*chunks, done=data.draw(st.booleans()))
    except ModelError:
        return
    check_laws(events)
    assemble(events)


@given(st.lists(STRANGE, max_size=3), st.booleans())
def test_the_documents_of_a_stranger_raise_nothing_else(documents: list[Any], done: bool) -> None:
    stream = ChatStream(ERRORS)
    for document in documents:
        assert isinstance(told(partial(stream.feed, document)), list | ModelError)
        assert isinstance(told(partial(ChatStream(ERRORS).whole, document)), list | ModelError)
    assert isinstance(told(partial(stream.end, done)), list | ModelError)


def told(act: Callable[[], list[StreamEvent]]) -> object:
    try:
        return act()
    except ModelError as error:
        return error


def check_laws(events: list[StreamEvent]) -> None:
    assert [type(event) for event in events].index(StreamDone) == len(events) - 1
    seen = 0
    for event in events:
        match event:
            case TextDelta(said) | RefusalDelta(said):
                assert said
                said.encode()
            case ReasoningDelta(said, opaque):
                assert said or opaque
                said.encode()
            case ToolCallDelta(index, identity, name, arguments, opaque):
                assert bool(name) == (index == seen)
                assert identity or name or arguments or opaque
                f"{identity}{name}{arguments}".encode()
                seen += index == seen
            case OpaqueDelta(_, opaque):
                assert opaque is not None
            case _:
                pass


def test_a_good_reply_is_lawful_and_says_all_of_it() -> None:
    events = events_of(*GOOD)
    check_laws(events)
    message = assemble(events)
    assert (message.text, message.refusal, message.reasoning) == ("Hello", "No.", "Hm.")
    assert [one.name for one in message.tool_calls] == ["look", "find", "old"]
