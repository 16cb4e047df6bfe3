"""Which records share a commit: an answer and the starts of its calls, a result and what follows it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from packages.core.tests.logs import calls_of, queued
from packages.core.tests.plans import plan
from packages.core.tests.proposals import Proposer
from packages.core.tests.pump import Pump
from packages.core.tests.tape import Tape
from packages.core.tests.world import TOOLS, World
from psych_runtime.testing.log_builder import Calls, LogBuilder
from psych_runtime_core.engine.effects import CallModel, ModelProblem, RunTool
from psych_runtime_core.engine.retry import failed_call
from psych_runtime_core.records import Record
from psych_runtime_core.records.facts import ToolFailure
from psych_runtime_core.state.run import RunStateView

BUSY = ToolFailure(kind="transient", message="busy", transient=True)
OPENING = ["attempt_started", "turn_started", "model_call_started"]
NEXT_TURN = ["tool_call_finished", "turn_started", "model_call_started"]
THE_END = ["model_call_finished", "run_settled"]
Answer = Calls | ToolFailure | str


@dataclass
class Scripted(World):
    """Each answer of the model in turn; each `begin` starts, but for the tools that are named.

    `said` is what people answer to the first Wait, in turn; `{}` stops the Run instead.
    """

    answers: list[Answer] = field(default_factory=list[Answer])
    asked: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    slow: bool = False
    said: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    def is_slow(self, begin: RunTool) -> bool:
        return self.slow

    def is_first(self) -> bool:
        return False

    def is_a_person_next(self) -> bool:
        return bool(self.said)

    def answer(self, state: RunStateView, effect: CallModel, now: datetime) -> Record:
        told, model = self.answers.pop(0), Proposer(state)
        if isinstance(told, ToolFailure):
            return failed_call(self.plan, state, state.lanes[""], ModelProblem(told), now)
        if isinstance(told, str):
            model.model_finished(told)
        else:
            model.model_finished(calls=told)
        return model.made[0]

    def begin(self, state: RunStateView, effect: RunTool, now: datetime) -> Record:
        call, tools = state.calls[effect.call_id], Proposer(state)
        if call.name in self.refused:
            tools.refused(call.call_id)
        elif call.name in self.asked and not call.waits_opened:
            tools.suspended(call.call_id)
        else:
            tools.tool_started(call.call_id, **TOOLS.get(call.name, {}))
        return tools.made[0]

    def person(self, state: RunStateView) -> Record:
        people, fields = Proposer(state), self.said.pop(0)
        people.resumed(**fields) if fields else people.abort()
        return people.made[0]


def commits(*answers: Answer, log: LogBuilder | None = None, **world: Any) -> list[list[str]]:
    scripted = Scripted(Tape(b""), plan("b"), answers=[*answers], **world)
    pump = Pump(scripted, [*(log or queued()).records], deaths=0)
    pump.run()
    return pump.commits


def test_an_answer_is_two_commits() -> None:
    assert commits("done") == [OPENING, THE_END]


def test_a_turn_with_a_call_is_two_commits() -> None:
    first = ["model_call_finished", "tool_call_started"]
    assert commits(calls_of("pay"), "done") == [OPENING, first, NEXT_TURN, THE_END]


def test_an_answer_brings_what_each_call_gives_in_call_order() -> None:
    told = commits(
        calls_of("pay", "look", "read"), "done", asked=("pay",), refused=("look",), said=[{"call": 0}]
    )
    assert told[1] == ["model_call_finished", "suspended", "tool_call_finished", "tool_call_started"]


def test_a_guard_refuses_in_the_commit_of_the_answer() -> None:
    told = commits(*[calls_of("pay")] * 3, "done")
    assert told[5] == ["model_call_finished", *NEXT_TURN]


def test_a_begin_that_waits_for_somebody_costs_one_commit_more() -> None:
    told = commits(calls_of("pay"), "done", slow=True)
    assert told == [OPENING, ["model_call_finished"], ["tool_call_started"], NEXT_TURN, THE_END]


def test_calls_side_by_side_come_back_one_by_one() -> None:
    told = commits(calls_of("pay", "look"), "done")
    assert told[1:4] == [
        ["model_call_finished", "tool_call_started", "tool_call_started"],
        ["tool_call_finished"],
        NEXT_TURN,
    ]


def test_a_failed_try_and_the_next_model_share_a_commit() -> None:
    assert commits(BUSY, "done")[1] == ["model_call_failed", "model_call_started"]


def test_a_try_that_waits_begins_in_a_commit_of_its_own() -> None:
    told = commits(BUSY, BUSY, "done")
    assert told[2:4] == [["model_call_failed"], ["model_call_started"]]


def test_an_approval_is_asked_answered_and_acted_on() -> None:
    told = commits(calls_of("pay"), "done", asked=("pay",), said=[{"call": 0}])
    asked = ["model_call_finished", "suspended"]
    assert told == [OPENING, asked, ["tool_call_started"], NEXT_TURN, THE_END]


def test_a_denial_opens_the_next_turn() -> None:
    told = commits(calls_of("pay"), "done", asked=("pay",), said=[{"call": 0, "approved": False}])
    assert told[2] == NEXT_TURN


def test_a_stop_closes_and_settles_at_once() -> None:
    told = commits(calls_of("pay", "look"), asked=("pay", "look"), said=[{}])
    assert told[-1] == ["tool_call_finished", "tool_call_finished", "run_settled"]


def test_an_attempt_that_only_settles_is_one_commit() -> None:
    assert commits(log=queued().abort()) == [["attempt_started", "run_settled"]]


def test_a_message_is_read_where_its_turn_opens() -> None:
    told = commits("done", log=queued().enqueued())
    assert told[0] == ["attempt_started", "turn_started", "queue_consumed", "model_call_started"]


def test_an_expired_wait_ends_the_run_in_one_commit() -> None:
    told = commits(calls_of("pay"), asked=("pay",))
    assert told[-1] == ["resumed", "tool_call_finished", "run_settled"]
