"""A conversation that grows has a body that begins with the one before, and costs its new messages alone."""

from __future__ import annotations

import gc
import json
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from packages.runtime.tests.chat_bodies import (
    FOREIGN,
    PNG,
    answer,
    call,
    encoded,
    request,
    result,
    source,
    terms,
)
from packages.runtime.tests.effort import effort_of
from psych_runtime.model.chat.dialects import DIALECTS
from psych_runtime.model.chat.request import trail
from psych_runtime.model.chat.request.limits import MAX_MEDIA, Unsendable
from psych_runtime.model.chat.request.messages import WireConversation
from psych_runtime_core.messages import (
    ImagePart,
    Media,
    Message,
    ReasoningPart,
    SystemMessage,
    TextPart,
    UserMessage,
)

MARKS = (b',"cache_control":{"type":"ephemeral"}', b',"cache_control":{"type":"ephemeral","ttl":"1h"}')


def turn(number: int, dialect: str, calls: int) -> list[Message]:
    """A turn with parallel calls: thoughts now and then, media, ids that repeat, a model in between."""
    by = FOREIGN if number % 7 == 3 else source(dialect)
    thought = [ReasoningPart(text=f"Hm {number}.")] if number % 3 else []
    made = [call(f"c{number}_{n}", f'{{"n":{n}}}', given=f"p{n % 2}") for n in range(calls)]
    shown = (TextPart(text="See"), ImagePart(media=PNG))
    results = [result(each.id, shown if number == 5 else "ok") for each in made]
    steered: list[Message] = [UserMessage(content=f"Also {number}")] if number % 4 == 0 else []
    return [answer(*thought, f"Turn {number}", *made, by=by), *results, *steered]


def growing(dialect: str, turns: int) -> Iterator[tuple[Message, ...]]:
    """The conversation as it stands at each request."""
    said: list[Message] = [SystemMessage(content="Be brief."), UserMessage(content="Go")]
    yield tuple(said)
    for number in range(turns):
        said += turn(number, dialect, calls=1 + number % 3)
        yield tuple(said)


def copied(said: Sequence[Message]) -> tuple[Message, ...]:
    """The same conversation, of objects that nobody wrote before."""
    return tuple(message.model_copy() for message in said)


def without_marks(body: bytes) -> bytes:
    for mark in reversed(MARKS):
        body = body.replace(mark, b"")
    return body


def begins_with(bodies: Sequence[bytes]) -> bool:
    """Whether each body begins with the one before, but for its last two bytes."""
    return all(later.startswith(body[:-2]) for body, later in pairwise(bodies))


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("cache", ["auto", "long"])
def test_over_fifty_turns_each_body_begins_with_the_one_before(dialect: str, cache: str) -> None:
    bodies: list[bytes] = []
    previous, said, marked = 0, tuple[Message, ...](), tuple[int, ...]()
    for said in growing(dialect, 50):
        marked = (0, previous, len(said) - 1)
        bodies.append(encoded(request(*said, cache_breakpoints=marked, prompt_cache=cache), terms(dialect)))
        previous = len(said) - 1
    assert begins_with([without_marks(body) for body in bodies])
    # What was written before is what a stranger to the conversation writes.
    afresh = tuple(message.model_copy() for message in said)
    assert (
        encoded(request(*afresh, cache_breakpoints=marked, prompt_cache=cache), terms(dialect)) == bodies[-1]
    )


def test_marks_stand_at_the_end_of_the_system_message_and_of_the_last_two_requests() -> None:
    said: list[Message] = [SystemMessage(content="Be brief."), UserMessage(content="Go")]
    said += [answer("Well."), UserMessage(content="On")]
    body = json.loads(encoded(request(*said, cache_breakpoints=(0, 1, 3)), terms("openrouter")))
    marked = ["cache_control" in message["content"][-1] for message in body["messages"]]
    assert marked == [True, True, False, True]


def test_a_mark_whose_place_has_no_content_stands_before_it() -> None:
    said: list[Message] = [UserMessage(content="Go"), answer(call()), result("c1", "")]
    body = json.loads(encoded(request(*said, cache_breakpoints=(2,)), terms("openrouter")))
    assert body["messages"][0]["content"][0]["cache_control"] == {"type": "ephemeral"}
    assert [message["content"] for message in body["messages"][1:]] == ["", ""]


@pytest.mark.parametrize(
    ("dialect", "cache"),
    [pytest.param("openrouter", "off", id="off"), pytest.param("openai", "auto", id="automatic")],
)
def test_there_are_no_marks_where_they_are_not_wanted(dialect: str, cache: str) -> None:
    body = encoded(request(cache_breakpoints=(0,), prompt_cache=cache), terms(dialect))
    assert b"cache_control" not in body


TEXTS = st.text(max_size=12)
SOURCES = st.sampled_from(["own", "foreign"])


@st.composite
def conversations(draw: st.DrawFn) -> tuple[str, list[list[Message]]]:
    """A dialect, and turns that a strict provider would take."""
    dialect = draw(st.sampled_from(sorted(DIALECTS)))
    turns: list[list[Message]] = [[UserMessage(content="Go")]]
    for number in range(draw(st.integers(1, 8))):
        by = source(dialect) if draw(SOURCES) == "own" else FOREIGN
        thoughts = draw(st.lists(st.builds(ReasoningPart, text=TEXTS), max_size=2))
        calls = [
            call(f"c{number}_{n}", draw(TEXTS), given=draw(st.none() | st.sampled_from(["", "p", "q"])))
            for n in range(draw(st.integers(0, 3)))
        ]
        said: list[Message] = [answer(*thoughts, f"t{draw(TEXTS)}", *calls, by=by)]
        for each in calls:
            shown = (TextPart(text=draw(TEXTS)), ImagePart(media=PNG)) if draw(st.booleans()) else draw(TEXTS)
            said.append(result(each.id, shown))
        said += [UserMessage(content="And?")] * draw(st.integers(0, 1))
        turns.append(said)
    return dialect, turns


@given(conversations())
def test_any_conversation_keeps_its_beginning(made: tuple[str, list[list[Message]]]) -> None:
    dialect, turns = made
    bodies: list[bytes] = []
    said: list[Message] = []
    for each in turns:
        said += each
        bodies.append(encoded(tuple(said), terms(dialect)))
    assert begins_with(bodies)
    assert encoded(copied(said), terms(dialect)) == bodies[-1]
    check_strictly(json.loads(bodies[-1])["messages"])


def check_strictly(messages: list[dict[str, Any]]) -> None:
    """What a strict server checks: each call is answered once, in order, right after; ids never repeat."""
    due: list[str] = []
    seen: set[str] = set()
    for message in messages:
        if message["role"] == "tool":
            assert message["tool_call_id"] == due.pop(0)
            continue
        assert not due
        for each in message.get("tool_calls", []):
            assert each["id"] not in seen
            assert isinstance(json.loads(each["function"]["arguments"]), dict)
            seen.add(each["id"])
            due.append(each["id"])
    assert not due


# --- what a request costs ------------------------------------------------------------------------------


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[Message]:
    """The messages that were written, as they are."""
    written: list[Message] = []
    take = WireConversation.take

    def noted(self: WireConversation, message: Message) -> None:
        written.append(message)
        take(self, message)

    monkeypatch.setattr(WireConversation, "take", noted)
    return written


def test_of_four_hundred_requests_each_writes_its_new_messages_alone(taken: list[Message]) -> None:
    for said in growing("other", 400):
        encoded(said)
        assert len(taken) == len(said)


def test_the_four_hundredth_request_costs_a_hundredth_of_writing_it_from_nothing() -> None:
    *_, before, said = growing("openai", 400)
    afresh, where = copied(said), terms("openai")
    encoded(before, where)
    after, anew = (effort_of(partial(encoded, each, where)) for each in (said, afresh))
    assert after <= anew / 100


def test_an_equal_message_that_is_another_object_is_written_again(taken: list[Message]) -> None:
    said = (UserMessage(content="Go"), answer("Well."), UserMessage(content="On"))
    encoded(said)
    encoded((*said[:2], UserMessage(content="On")))
    assert len(taken) == 6


def test_a_shorter_conversation_is_written_anew_and_a_longer_one_goes_on_from_it(
    taken: list[Message],
) -> None:
    said = (UserMessage(content="Go"), answer("Well."), UserMessage(content="On"))
    whole, short = encoded(copied(said)), encoded(copied(said[:1]))
    assert [encoded(said), encoded(said[:1]), encoded(said)] == [whole, short, whole]


def test_a_model_between_does_not_disturb_what_was_written_for_another(taken: list[Message]) -> None:
    said = (UserMessage(content="Go"), answer("Well.", by=source("openai")))
    first, other = encoded(said, terms("openai")), encoded(said, terms("openrouter"))
    written = len(taken)
    assert (encoded(said, terms("openai")), encoded(said, terms("openrouter"))) == (first, other)
    assert len(taken) == written == 4


def test_a_conversation_that_failed_on_the_way_is_not_gone_on_from() -> None:
    said: list[Message] = [UserMessage(content="Go"), answer(call()), result()]
    unread = Media(media_type="image/png", blob_key="k1")
    broken = [*said, UserMessage(content=(ImagePart(media=PNG), ImagePart(media=unread)))]
    whole = encoded(said)
    # As many times as a request may hold pictures: none of the failed ones may be counted.
    for _ in range(MAX_MEDIA):
        with pytest.raises(Unsendable, match="not there"):
            encoded(broken)
    assert encoded(said) == whole
    assert encoded([*said, UserMessage(content=(ImagePart(media=PNG),))])


def test_what_was_written_lives_as_long_as_its_conversation() -> None:
    trails = trail._TRAILS  # pyright: ignore[reportPrivateUsage]  # its length is what leaks would raise
    gc.collect()
    before = len(trails)
    said = tuple(growing("other", 3))[-1]
    encoded(said)
    assert len(trails) == before + 1
    del said
    gc.collect()
    assert len(trails) == before
