"""A conversation as people read it."""

from __future__ import annotations

import pytest

from packages.core.tests.stories import RUN, Story, at, begun, erased, rich, view_of
from psych_runtime_core.texts import ABORTED, UNKNOWN
from psych_runtime_core.views.thread import MessageView, thread_of


def lines(log: Story) -> list[tuple[str, str, str]]:
    return [(each.role, each.origin, each.content) for each in thread_of([log.view]).messages]


def test_everything_that_was_said_stands_where_it_was_recorded() -> None:
    log = begun().sends("qe_1", "hurry").asks("qe_1").says("Yes.", ("pay", {}), ("pay", {}))
    log.runs(1, {"b": 1, "a": 2}).runs(0, "paid").sends("qe_2", "and?", "follow_up")
    log.asks("qe_2").says("Done.")
    assert lines(log) == [
        ("user", "input", "hello"),
        ("user", "steer", "hurry"),
        ("assistant", "model", "Yes."),
        ("tool", "tool", '{"a":2,"b":1}'),
        ("tool", "tool", "paid"),
        ("user", "follow_up", "and?"),
        ("assistant", "model", "Done."),
    ]


def test_a_message_names_its_record_and_a_result_its_call() -> None:
    log = begun().asks().says("", ("pay", {})).wait(2).runs(0, "paid")
    *_, called, result = thread_of([log.view]).messages
    assert (called.content, called.tool_name, called.seq) == ("", None, 5)
    assert result == MessageView(
        role="tool",
        content="paid",
        run_id=RUN,
        seq=7,
        at=at(3),
        lane="",
        origin="tool",
        tool_name="pay",
        tool_call_id=log.call_of(),
        is_error=False,
    )


@pytest.mark.parametrize(
    ("outcome", "text"),
    [
        pytest.param("error", "it broke", id="error"),
        pytest.param("unknown", UNKNOWN, id="unknown"),
        pytest.param("aborted", ABORTED, id="aborted"),
    ],
)
def test_what_is_not_ok_is_an_error(outcome: str, text: str) -> None:
    log = begun().asks().says("", ("pay", {})).tool_started().tool_finished(outcome=outcome)
    message = thread_of([log.view]).messages[-1]
    assert (message.content, message.is_error) == (text, True)


@pytest.mark.parametrize(
    "log",
    [
        pytest.param(Story().admitted({}), id="an empty input"),
        pytest.param(Story().admitted({}).sends("qe_1", "later"), id="an entry that no turn has read"),
        pytest.param(
            Story().admitted({}).attempt().asks().model_failed("auth", next="stop"),
            id="a try that gave no answer",
        ),
        pytest.param(Story().admitted({}).attempt().asks().says(""), id="an answer without text or call"),
    ],
)
def test_nothing_said_is_no_message(log: Story) -> None:
    assert lines(log) == []


def test_seqs_rise_within_a_run_and_runs_stand_oldest_first() -> None:
    older, newer = begun().asks().says("Yes."), rich()
    thread = thread_of([older.view, newer.view])
    assert thread.run_ids == (RUN, RUN)
    first, second = thread.messages[:2], thread.messages[2:]
    assert [each.seq for each in first] == [1, 5]
    seqs = [each.seq for each in second]
    assert seqs == sorted(set(seqs))


def test_an_erased_thread_keeps_its_calls_and_no_word() -> None:
    messages = thread_of([view_of(erased(rich()))]).messages
    assert {each.content for each in messages} <= {"", "null"}
    assert [each.tool_name for each in messages if each.role == "tool"] == ["pay"] * 5
