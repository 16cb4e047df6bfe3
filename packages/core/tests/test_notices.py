"""What a model is told at one moment only, and that it stays where it was told."""

from __future__ import annotations

import pytest

from packages.core.tests.logs import asking, ready, turns
from packages.core.tests.plans import plan
from psych_runtime.testing.log_builder import LogBuilder
from psych_runtime_core.engine import wording
from psych_runtime_core.engine.conversation import Conversation
from psych_runtime_core.engine.notices import notices_of, with_notices
from psych_runtime_core.ids import ToolCallId
from psych_runtime_core.messages import (
    AssistantMessage,
    ImagePart,
    Media,
    Message,
    ModelSource,
    Part,
    TextPart,
    ToolResultMessage,
    UserMessage,
)
from psych_runtime_core.records.facts import Sent

LAST = wording.last_turn()
PICTURE = ImagePart(media=Media(media_type="image/png", data=b"x"))


def told(log: LogBuilder, **limits: int) -> tuple[str, ...]:
    state = log.state()
    return notices_of(plan(**limits), state.lanes[""])


@pytest.mark.parametrize(
    ("outcomes", "notices"),
    [
        pytest.param(["ok", "error"], (), id="two failures are no streak"),
        pytest.param(["error"] * 3, (wording.withheld(["pay"]),), id="a streak withholds the tool"),
        pytest.param(["error"] * 3 + ["ok"], (), id="a success ends it"),
    ],
)
def test_a_tool_that_is_withheld_is_named(outcomes: list[str], notices: tuple[str, ...]) -> None:
    assert told(turns(ready(), outcomes).turn()) == notices


def test_it_is_named_for_one_turn_alone() -> None:
    log = turns(turns(ready(), ["error"] * 3), ["ok"], tool="look")
    assert told(log.turn()) == ()


@pytest.mark.parametrize(
    ("limits", "notices"),
    [
        pytest.param({}, (), id="enough of both"),
        pytest.param({"max_turns": 5}, (), id="three turns more"),
        pytest.param({"max_turns": 4}, (wording.few_left(2, 47),), id="two turns more"),
        pytest.param({"max_turns": 2}, (LAST,), id="the last turn"),
        pytest.param({"max_steps": 3}, (wording.few_left(30, 2),), id="two calls more"),
        pytest.param({"max_steps": 1}, (LAST,), id="no call more"),
    ],
)
def test_what_is_left_is_told_when_it_is_little(limits: dict[str, int], notices: tuple[str, ...]) -> None:
    assert told(turns(ready(), ["ok"]).turn(), **limits) == notices


def test_a_first_turn_is_not_hurried() -> None:
    assert told(asking(), max_turns=2) == ()
    assert told(asking(), max_turns=1) == (LAST,)


@pytest.mark.parametrize(
    ("message", "content"),
    [
        pytest.param(UserMessage(content="Hi."), "Hi.\n\n[a]\n[b]", id="a text"),
        pytest.param(
            UserMessage(content=(PICTURE,)), (PICTURE, TextPart(text="[a]\n[b]")), id="parts of a message"
        ),
        pytest.param(
            ToolResultMessage(call_id=ToolCallId("c"), name="t", content=""), "\n\n[a]\n[b]", id="a result"
        ),
    ],
)
def test_notices_stand_at_the_end_of_the_newest_message(
    message: Message, content: str | tuple[Part, ...]
) -> None:
    assert with_notices(message, ()) is message
    assert getattr(with_notices(message, ("a", "b")), "content", None) == content


def test_an_answer_takes_none() -> None:
    answer = AssistantMessage(parts=(TextPart(text="Hm."),), source=ModelSource(provider="p", model="m"))
    assert with_notices(answer, ("a",)) is answer


def test_what_was_told_once_is_told_again_in_every_later_request() -> None:
    sent = Sent(prompt_hash="0" * 64, tools_hash="1" * 64, notices=(LAST,))
    log = asking().model_started()
    conversation = Conversation("Be brief.")
    for record in log.records:
        conversation.absorb(record)
    before = conversation.prompt(notices=(LAST,)).messages
    log.model_finished("Done.", sent=sent).turn().model_started()
    for record in log.records[-3:]:
        conversation.absorb(record)
    after = conversation.prompt().messages
    assert after[: len(before)] == before
    assert LAST in getattr(before[-1], "text", "")
