"""What the kit calls a difference, and what a broken law."""

from __future__ import annotations

from decimal import Decimal

import pytest

from psych_runtime.testing.assemble import assemble
from psych_runtime_contract.model import ABSENT, Call, Outcome
from psych_runtime_contract.model.judging import broken_laws, differences, unequal
from psych_runtime_contract.model.playing import Played
from psych_runtime_core.errors import (
    AccessDenied,
    CredentialNotFound,
    ModelError,
    ModelErrorKind,
    ResponseTooLarge,
)
from psych_runtime_core.messages import FinishReason, Media
from psych_runtime_core.ports.model import (
    MediaDelta,
    OpaqueDelta,
    ReasoningDelta,
    RefusalDelta,
    StreamDone,
    StreamEvent,
    TextDelta,
    ToolCallDelta,
)
from psych_runtime_core.usage import Cost, Usage

STOP = StreamDone(FinishReason.STOP, "stop")
LOOK = ToolCallDelta(0, "a", "look", "{}")
PICTURE = MediaDelta(Media(media_type="image/png", data=b"png"))
HI = TextDelta("Hi")


def answer(*events: StreamEvent, done: StreamDone = STOP) -> Played:
    """A call that ended well."""
    whole = [*events, done]
    return Played(events=whole, message=assemble(whole), stopped=True)


def failed(error: BaseException, *events: StreamEvent) -> Played:
    """A call that did not."""
    return Played(events=list(events), error=error)


def refused(message: str = "no", retry_after: float | None = None) -> ModelError:
    return ModelError(ModelErrorKind.TRANSIENT, message, code="busy", retry_after_seconds=retry_after)


PAID = StreamDone(
    FinishReason.STOP, "stop", Usage(input=1, output=2), Cost(amount=Decimal(3), source="provider")
)
COMPUTED = StreamDone(FinishReason.STOP, cost=Cost(amount=Decimal(3)))
ALL = (("reasoning", "Hm."), ("text", "Hi"), ("call", "look"), ("image", "image/png"), ("opaque", "seal"))
TRANSIENT = Outcome(error="transient")


@pytest.mark.parametrize(
    ("expect", "played", "said"),
    [
        pytest.param(Outcome(text="Hi"), answer(HI), [], id="equal"),
        pytest.param(Outcome(text="Ho"), answer(HI), ["text: expected 'Ho', got 'Hi'"], id="text"),
        pytest.param(Outcome(), answer(HI), ["text: expected '', got 'Hi'"], id="text that nobody expected"),
        pytest.param(
            Outcome(text="Hi"),
            answer(HI, ReasoningDelta("Hm.")),
            ["reasoning: expected '', got 'Hm.'"],
            id="reasoning",
        ),
        pytest.param(Outcome(refusal="No."), answer(RefusalDelta("No.")), [], id="a refusal is its own text"),
        pytest.param(
            Outcome(calls=(Call("look", "{}"),)), answer(LOOK), ["calls: expected (Call("], id="id of a call"
        ),
        pytest.param(
            Outcome(text="Hi", finish=FinishReason.LENGTH),
            answer(HI),
            ["finish: expected 'length', got 'stop'"],
            id="finish",
        ),
        pytest.param(
            Outcome(text="Hi"),
            answer(HI, done=PAID),
            ["usage: expected None", "cost: expected None"],
            id="paid",
        ),
        pytest.param(
            Outcome(text="Hi", usage=Usage(input=1, output=2), cost=Decimal(3)),
            answer(HI, done=PAID),
            [],
            id="usage and cost",
        ),
        pytest.param(
            Outcome(text="Hi", cost=Decimal(3)),
            answer(HI, done=COMPUTED),
            ["cost: expected ('USD', 'provider'), got ('USD', 'computed')"],
            id="a cost of its own making",
        ),
        pytest.param(
            Outcome(text="Hi", raw_finish="end"),
            answer(HI),
            ["raw_finish: expected 'end', got 'stop'"],
            id="the provider's word",
        ),
        pytest.param(
            Outcome(text="Hi", reasoning="Hm.", calls=(Call("look", "{}", "a"),), parts=ALL),
            answer(ReasoningDelta("Hm."), HI, LOOK, PICTURE, OpaqueDelta("seal", {"x": 1})),
            [],
            id="parts in their order",
        ),
        pytest.param(
            Outcome(text="Hi", parts=(("text", "H"), ("text", "i"))),
            answer(HI),
            ["parts: expected"],
            id="parts",
        ),
        pytest.param(
            Outcome(text="Hi"), failed(refused("on fire")), ["an answer was expected"], id="an error"
        ),
        pytest.param(TRANSIENT, answer(HI), ["error: expected transient, got no error"], id="no error"),
        pytest.param(
            TRANSIENT, failed(KeyError("x")), ["error: expected transient, got KeyError"], id="a raw error"
        ),
        pytest.param(
            Outcome(error="permanent"),
            failed(refused()),
            ["error: expected permanent, got ModelError transient busy"],
            id="kind",
        ),
        pytest.param(Outcome(error="too_large"), failed(ResponseTooLarge("x", 1)), [], id="too large"),
        pytest.param(
            Outcome(error="transient", code="idle"),
            failed(refused()),
            ["code: expected 'idle', got 'busy'"],
            id="code",
        ),
        pytest.param(
            Outcome(error="transient", message_contains=("on fire", "!")),
            failed(refused("on fire")),
            ["message lacks '!'"],
            id="words that are not there",
        ),
        pytest.param(
            Outcome(error="transient", message_hides=("sk-1",), message_at_most=3),
            failed(refused("key sk-1")),
            ["message shows 'sk-1'", "message has 8 characters"],
            id="words that should not be there",
        ),
        pytest.param(
            Outcome(error="transient", text="Hi"),
            failed(refused(), TextDelta("H")),
            ["text: expected 'Hi', got 'H'"],
            id="text before the error",
        ),
        pytest.param(
            TRANSIENT, failed(refused("no", 7)), ["retry_after: expected None, got 7"], id="a hint of nobody"
        ),
        pytest.param(
            Outcome(error="transient", retry_after=(5, 6)),
            failed(refused("no", 5.5)),
            [],
            id="a hint in time",
        ),
        pytest.param(
            Outcome(error="transient", retry_after=(5, 6)),
            failed(refused("no", 4.9)),
            ["retry_after: expected from 5 to 6, got 4.9"],
            id="an early hint",
        ),
        pytest.param(
            Outcome(error="transient", retry_after=(5, 6)),
            failed(refused()),
            ["retry_after: expected from 5 to 6, got None"],
            id="a lost hint",
        ),
        pytest.param(
            Outcome(text="Hi", silence=(9, 12)),
            answer(HI),
            ["silence: expected (9, 12) seconds"],
            id="no silence",
        ),
    ],
)
def test_what_differs_from_an_outcome(expect: Outcome, played: Played, said: list[str]) -> None:
    lines = list(differences(expect, played))
    assert len(lines) == len(said), lines
    assert all(line.startswith(words) for line, words in zip(lines, said, strict=True)), lines


def test_a_long_value_is_shown_by_its_ends() -> None:
    (line,) = differences(Outcome(text="a" * 5_000 + "b"), answer(TextDelta("a" * 5_000 + "c")))
    assert len(line) < 1_000
    assert line.endswith("c' (5003 characters)")


@pytest.mark.parametrize(
    ("got", "said"),
    [
        pytest.param({"a": [1]}, [], id="as it must be"),
        pytest.param({"a": [1], "c": 3}, [], id="more than is asked for"),
        pytest.param({"a": [2]}, ["next request: a: expected [1], got [2]"], id="another value"),
        pytest.param({}, ["next request: a: expected [1], got <Mark.ABSENT"], id="a key that is missing"),
        pytest.param(
            {"a": [1], "b": None}, ["next request: b must be left out, got None"], id="a key too many"
        ),
    ],
)
def test_what_the_next_request_lacks(got: dict[str, object], said: list[str]) -> None:
    lines = list(unequal({"a": [1], "b": ABSENT}, got))
    assert len(lines) == len(said), lines
    assert all(line.startswith(words) for line, words in zip(lines, said, strict=True)), lines


@pytest.mark.parametrize(
    ("played", "said"),
    [
        pytest.param(answer(HI, LOOK), None, id="a good one"),
        pytest.param(failed(refused(), HI), None, id="a typed error"),
        pytest.param(failed(AccessDenied("x", "y")), None, id="access denied"),
        pytest.param(failed(CredentialNotFound(None, "x")), None, id="no credential"),
        pytest.param(answer(TextDelta("", opaque={"mark": 1})), None, id="a mark without text"),
        pytest.param(answer(ToolCallDelta(0, None, "look")), None, id="a call without arguments"),
        pytest.param(Played([HI], stopped=True), "law 1: the stream stopped without", id="no end"),
        pytest.param(
            Played([STOP, HI], stopped=True), "law 1: StreamDone came at [0]", id="more after the end"
        ),
        pytest.param(Played([STOP, STOP], stopped=True), "law 1: StreamDone came at [0, 1]", id="two ends"),
        pytest.param(Played([ToolCallDelta(1, name="x")]), "law 2: call 1 came before call 0", id="a gap"),
        pytest.param(Played([ToolCallDelta(0, "a", "", "{")]), "law 2: call 0 began without", id="no name"),
        pytest.param(Played([TextDelta("")]), "law 3: delta 0 is empty", id="empty text"),
        pytest.param(Played([RefusalDelta("")]), "law 3: delta 0 is empty", id="an empty refusal"),
        pytest.param(Played([LOOK, ToolCallDelta(0)]), "law 3: delta 1 is empty", id="an empty fragment"),
        pytest.param(Played([TextDelta("\ud83d")]), "law 3: delta 0 holds half", id="half a character"),
        pytest.param(
            Played([ToolCallDelta(0, None, "x", "\ude00")]), "law 3: delta 0 holds half", id="in a call"
        ),
        pytest.param(failed(KeyError("x")), "law 4: KeyError", id="a raw error"),
        pytest.param(failed(TimeoutError()), "law 4: TimeoutError", id="a timeout"),
    ],
)
def test_which_law_is_broken(played: Played, said: str | None) -> None:
    lines = list(broken_laws(played))
    assert lines == [] if said is None else len(lines) == 1 and lines[0].startswith(said)
