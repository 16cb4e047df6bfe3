"""The answer of a Run, and the work behind it."""

from __future__ import annotations

from typing import Any

import pytest

from packages.core.tests.stories import RUN, Story, at, because, begun, erased, rich, view_of
from psych_runtime_core.errors import DeadlineExceeded, PsychError, RunAborted, RunFailed
from psych_runtime_core.records.facts import ToolOutcome
from psych_runtime_core.views.answer import ToolCallView, answer_of


def answered() -> Story:
    return begun().asks().says("Done.")


def followed_up() -> Story:
    return begun().asks().says("An old text.").sends("qe_1", "and?", "follow_up").asks("qe_1")


def test_a_completed_run_has_its_answer_apart_from_its_work() -> None:
    log = begun().asks().says("Let me see.", ("pay", {})).runs(0, "ok").asks().says("Done.")
    answer = answer_of(log.settled().view)
    assert (answer.finished, answer.text, answer.output) == (True, "Done.", {"text": "Done."})
    assert answer.result() == "Done."
    assert [(turn.turn, turn.text) for turn in answer.work] == [(1, "Let me see.")]


@pytest.mark.parametrize(
    ("output", "text"),
    [
        pytest.param({"text": "Done."}, "Done.", id="its text"),
        pytest.param({"text": "I will not.", "refused": True}, "I will not.", id="the text of a refusal"),
        pytest.param({"text": ""}, "", id="an empty text"),
        pytest.param({"n": 1, "a": [True]}, '{"a":[true],"n":1}', id="else its JSON"),
        pytest.param({"text": 7}, '{"text":7}', id="a number is no text"),
    ],
)
def test_the_text_of_an_output_is(output: dict[str, Any], text: str) -> None:
    assert answer_of(answered().settled(output=output).view).result() == text


UNFINISHED = [
    pytest.param(Story(), TimeoutError, "queued", id="no record"),
    pytest.param(answered(), TimeoutError, "running", id="answered and not settled"),
    pytest.param(followed_up(), TimeoutError, "running", id="followed up"),
    pytest.param(
        begun().asks().says("May I?", ("pay", {})).suspended(), TimeoutError, "waiting", id="waiting"
    ),
    pytest.param(answered().abort(), TimeoutError, "stopping", id="stopping"),
    pytest.param(answered().settled("failed", failure=because("refusal")), RunFailed, "refusal", id="failed"),
    pytest.param(answered().abort().settled("aborted"), RunAborted, "aborted", id="aborted"),
    pytest.param(
        answered().settled("aborted", failure=because("deadline")), DeadlineExceeded, "aborted", id="deadline"
    ),
    pytest.param(
        answered().settled("abandoned", failure=because("suspension_expired")),
        RunAborted,
        "abandoned",
        id="abandoned",
    ),
    pytest.param(
        answered().settled("force_settled", failure=because("force_settled")),
        RunAborted,
        "force_settled",
        id="force-settled",
    ),
]


@pytest.mark.parametrize(("log", "error", "named"), UNFINISHED)
def test_no_other_run_passes_an_old_text_for_its_answer(
    log: Story, error: type[Exception], named: str
) -> None:
    answer = answer_of(log.view)
    assert (answer.finished, answer.text, answer.output) == (False, None, None)
    with pytest.raises(error, match=named) as raised:
        answer.result()
    assert type(raised.value) is error


def test_a_failed_run_raises_the_failure_it_recorded() -> None:
    answer = answer_of(begun().settled("failed", failure=because("auth")).view)
    with pytest.raises(RunFailed) as raised:
        answer.result()
    assert (raised.value.run_id, raised.value.failure) == (RUN, answer.failure)
    assert isinstance(raised.value, PsychError)


def test_a_superseded_answer_is_work() -> None:
    log = followed_up().says("A new text.").settled()
    answer = answer_of(log.view)
    assert (answer.text, [turn.text for turn in answer.work]) == ("A new text.", ["An old text."])


def test_a_failed_try_is_work_even_in_the_turn_of_the_answer() -> None:
    log = begun().asks().model_failed().model_started().says("Done.").settled()
    work = answer_of(log.view).work
    assert [(turn.turn, turn.text, turn.failure_message) for turn in work] == [(1, "", "no answer")]


def test_a_turn_that_ended_in_a_failure_stands_once() -> None:
    work = answer_of(begun().asks().model_failed("auth", next="stop").view).work
    assert [turn.failure_message for turn in work] == ["no answer"]


def test_a_turn_that_has_said_nothing_yet_is_work_without_a_text() -> None:
    work = answer_of(begun().asks().attempt().model_started().view).work
    assert [(turn.turn, turn.text, turn.failure_message, turn.at) for turn in work] == [(1, "", None, at(1))]


def test_a_call_shows_what_ran_and_what_came_of_it() -> None:
    log = begun().asks().says("", ("pay", {"to": "x"}), ("pay", "[1]")).suspended(0).wait(5)
    log.resumed(0, arguments={"to": "z"}).tool_started(0).wait(3)
    log.tool_finished(outcome="error", failure=because("ValueError"), duration_seconds=2.5)
    paid, open_call = answer_of(log.view).work[0].tool_calls
    assert paid == ToolCallView(
        call_id=log.call_of(0),
        tool="pay",
        arguments={"to": "z"},
        outcome=ToolOutcome.ERROR,
        result=None,
        preview=None,
        result_handle=None,
        failure_message="because of ValueError",
        duration_seconds=2.5,
        started_at=at(6),
        finished_at=at(9),
    )
    assert (open_call.arguments, open_call.outcome, open_call.duration_seconds) == ("[1]", None, None)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        pytest.param("", {}, id="nothing is the empty object"),
        pytest.param(' {"a": 1.0} ', {"a": 1}, id="an object"),
        pytest.param('{"a": 1, "a": 2}', '{"a": 1, "a": 2}', id="a key that stands twice"),
        pytest.param("[1]", "[1]", id="an array"),
        pytest.param('{"a": NaN}', '{"a": NaN}', id="NaN"),
        pytest.param("{} and more", "{} and more", id="text behind it"),
        pytest.param("{" * 9, "{" * 9, id="cut off"),
        pytest.param('{"a":' * 200 + "1" + "}" * 200, '{"a":' * 200 + "1" + "}" * 200, id="too deep"),
    ],
)
def test_arguments_are_an_object_or_else_as_they_were_written(written: str, read: Any) -> None:
    (call,) = answer_of(begun().asks().says("", ("pay", written)).view).work[0].tool_calls
    assert call.arguments == read


@pytest.mark.parametrize(
    ("log", "summary"),
    [
        pytest.param(answered().settled(), "", id="no work"),
        pytest.param(followed_up(), "2 turns", id="turns alone"),
        pytest.param(begun().asks().says("", ("pay", {})), "1 turn, 1 tool call", id="one of each"),
        pytest.param(rich(), "4 turns, 5 tool calls", id="a try that failed makes no turn of its own"),
    ],
)
def test_the_work_is_summed_up(log: Story, summary: str) -> None:
    assert answer_of(log.view).summary() == summary


def test_an_erased_answer_is_finished_and_empty() -> None:
    answer = answer_of(view_of(erased(rich())))
    assert (answer.finished, answer.result(), answer.output) == (True, "", None)
    assert answer.summary() == "4 turns, 5 tool calls"
