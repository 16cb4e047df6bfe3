"""What comes behind a finish reason: it adds to an answer or says nothing, and breaks none."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pytest

from packages.runtime.tests.chat_chunks import ERRORS, Chunk, choice, finish, money, read, text
from packages.runtime.tests.client_scenes import DONE, event, failing, heard, serving, streamed, text_of
from psych_runtime.model.chat.reply.stream import ChatStream
from psych_runtime_core.errors import ModelError, ModelErrorKind
from psych_runtime_core.ports.model import StreamDone

PASSING: dict[str, Chunk] = {
    "without a code": {"error": {"message": "boom"}},
    "of the server": {"error": {"message": "boom", "code": 503}},
    "of too many requests": {"error": {"message": "boom", "type": "rate_limit_error"}},
    "in a choice": choice(error={"message": "boom"}),
    "a detail": {"detail": "boom"},
}
JUDGING: dict[str, tuple[Chunk, ModelErrorKind]] = {
    "a filter": ({"error": {"message": "boom", "code": "content_filter"}}, ModelErrorKind.CONTENT_FILTER),
    "a refused request": ({"error": {"message": "boom", "code": 400}}, ModelErrorKind.PERMANENT),
    "a key": ({"error": {"message": "boom", "code": 401}}, ModelErrorKind.AUTH),
    "no money": ({"error": {"message": "boom", "code": "insufficient_quota"}}, ModelErrorKind.PERMANENT),
    "a window": (
        {"error": {"message": "boom", "code": "context_length_exceeded"}},
        ModelErrorKind.CONTEXT_OVERFLOW,
    ),
}


@pytest.mark.parametrize("done", [True, False], ids=["with [DONE]", "without"])
@pytest.mark.parametrize("late", PASSING.values(), ids=PASSING)
def test_an_error_that_may_pass_takes_nothing_from_a_whole_answer(late: Chunk, done: bool) -> None:
    told = read(text("Hello"), finish("length"), late, text("!"), done=done)
    assert told.parts == [("text", "Hello!")]
    assert told.end.finish_reason == "length"


def test_figures_beside_such_an_error_count() -> None:
    late = {"error": {"message": "boom"}, "cost": Decimal("0.25"), **usage(7, 2)}
    told = read(text("Hello"), finish(), late)
    assert money(told) == Decimal("0.25")
    assert told.end.usage is not None
    assert (told.end.usage.input, told.end.usage.output) == (7, 2)


def usage(prompt: int, completion: int) -> Chunk:
    return {"usage": {"prompt_tokens": prompt, "completion_tokens": completion}}


@pytest.mark.parametrize(("late", "kind"), JUDGING.values(), ids=JUDGING)
def test_a_judgement_is_told_whenever_it_comes(late: Chunk, kind: ModelErrorKind) -> None:
    with pytest.raises(ModelError, match="boom") as caught:
        read(text("Hello"), finish(), late)
    assert caught.value.kind is kind


@pytest.mark.parametrize(
    "before",
    [
        pytest.param([text("Hello")], id="no finish reason"),
        pytest.param([text("Hello"), finish(None), finish(""), finish(False)], id="an empty one"),
        pytest.param([text("Hello"), finish("error")], id="one that says so itself"),
        pytest.param([text("Hello"), finish("stop"), finish("abort")], id="one that was taken back"),
    ],
)
def test_until_an_answer_is_whole_an_error_is_one(before: Sequence[Chunk]) -> None:
    stream = ChatStream(ERRORS)
    for chunk in before:
        stream.feed(chunk)
    with pytest.raises(ModelError, match="boom"):
        stream.feed({"error": {"message": "boom"}})


def test_an_error_in_the_chunk_of_the_finish_reason_is_one() -> None:
    with pytest.raises(ModelError, match="boom"):
        read(text("Hello"), {**finish(), "error": {"message": "boom"}})


LATE: dict[str, bytes] = {
    "an error": event({"error": {"message": "boom"}}),
    "an event of that name": b"event: error\ndata: boom\n\n",
    "no JSON": b"data: boom\n\n",
    "JSON without end": b"data: " + b"[" * 100_000 + b"\n\n",
}


@pytest.mark.parametrize("end", [(DONE,), ()], ids=["with [DONE]", "without"])
@pytest.mark.parametrize("late", LATE.values(), ids=LATE)
async def test_a_client_keeps_an_answer_whatever_comes_behind_it(late: bytes, end: tuple[Any, ...]) -> None:
    whole = (event(text("Hello")), event(finish()), late, event(usage(7, 2)), *end)
    async with serving(streamed(*whole)) as (_, client):
        events = await heard(client)
    assert text_of(events) == "Hello"
    done = events[-1]
    assert isinstance(done, StreamDone)
    assert done.usage is not None


@pytest.mark.parametrize("late", LATE.values(), ids=LATE)
async def test_before_its_end_the_same_breaks_it(late: bytes) -> None:
    async with serving(streamed(event(text("Hello")), late, event(finish()), DONE)) as (_, client):
        said, error = await failing(client)
    assert (said, error.kind) == ("Hello", ModelErrorKind.TRANSIENT)
