"""Crashing a Worker everywhere finds each fault that is planted, and says so in words."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from typing import Any

import pytest

from psych_runtime import AgentSpec, Answer, CodeTool, InMemoryStore, ModelRef, RunId, Store, ToolRegistry
from psych_runtime.attempt.drive import Driver
from psych_runtime.attempt.flights import Work
from psych_runtime.attempt.journal import Journal
from psych_runtime.testing import (
    CrashFailed,
    FailedPoint,
    FakeModel,
    Later,
    LogBuilder,
    Scenario,
    ScenarioNotDeterministic,
    ScenarioStuck,
    VirtualClock,
    approve_all,
    crash_everywhere,
    deny_all,
    outside,
    run_virtual,
    say,
    sigkill_everywhere,
    stop,
)
from psych_runtime.testing.crash import chosen
from psych_runtime.testing.play import Pace, play
from psych_runtime.testing.scenario import People
from psych_runtime.testing.switch import Points
from psych_runtime.testing.verdict import log_table
from psych_runtime_core.engine import calls
from psych_runtime_core.engine.effects import Effect, RunTool
from psych_runtime_core.records import Record
from psych_runtime_core.state.calls import CallState
from psych_runtime_core.state.run import RunStateView
from psych_runtime_core.state.waits import Wait

# Seconds of virtual time.
PAYING, LOOKING, GLANCE = 0.5, 0.25, 1


def tools() -> ToolRegistry:
    registry = ToolRegistry()

    @registry.register
    async def pay(cents: int) -> str:
        """Pay."""
        await asyncio.sleep(PAYING)
        return f"paid {cents}"

    @registry.register(annotations="read-only")
    async def look(name: str) -> str:
        """Look."""
        await asyncio.sleep(LOOKING)
        return name

    return registry


SPEC = AgentSpec(
    name="clerk",
    instructions="Serve.",
    model=ModelRef(model="m"),
    tools=(CodeTool(name="pay"), CodeTool(name="look")),
)


def paying() -> FakeModel:
    return FakeModel().turn(tool_calls=[("pay", {"cents": 5}), ("look", {"name": "a"})]).turn("Paid.")


def looking() -> FakeModel:
    return FakeModel(play="per_lane").turn(tool_calls=[("look", {"name": "a"})]).turn("Seen.")


SCENARIO = Scenario(SPEC, tools, paying, input="Pay them.")


@pytest.mark.parametrize("at", ["commits", "awaits"])
def test_a_sound_worker_passes_and_the_unknown_points_are_listed(at: Points) -> None:
    report = crash_everywhere(SCENARIO, at=at)
    assert report.points > 20
    assert 0 < len(report.unknown) < report.points
    assert str(report).startswith(
        f"{report.points} points, {len(report.unknown)} of them left a call unknown"
    )
    assert "\n" not in str(report)


def test_a_scenario_of_reading_tools_leaves_nothing_unknown() -> None:
    assert crash_everywhere(Scenario(SPEC, tools, looking)).unknown == ()


def test_runs_may_go_side_by_side() -> None:
    assert crash_everywhere(Scenario(SPEC, tools, looking, runs=3), limit=25).points == 25


def test_a_store_may_be_given_and_time_is_real_then() -> None:
    brief = Scenario(SPEC, tools, lambda: FakeModel().turn("Hello."))
    report = crash_everywhere(brief, store=InMemoryStore, limit=3, lease_seconds=1)
    assert report.points == 3


# --- faults that are planted ----------------------------------------------------------------------


def failed(scenario: Scenario = SCENARIO, limit: int = 2_000) -> CrashFailed:
    with pytest.raises(CrashFailed) as caught:
        crash_everywhere(scenario, limit=limit)
    return caught.value


def violations(failure: CrashFailed) -> str:
    return "\n".join(violation for point in failure.failed for violation in point.violations)


def test_a_tool_that_runs_before_its_start_is_recorded_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    commit = Journal.commit

    async def start(self: Any, new: Sequence[Work]) -> None:
        for effect in new:
            self._flights.start(effect)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        if self._journal.has_work:
            await commit(self._journal)

    monkeypatch.setattr(Driver, "_start", start)
    assert "happened 2 times" in violations(failed())


def test_a_call_that_is_begun_again_without_leave_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def started(state: RunStateView, call: CallState) -> Effect:
        return RunTool(call.lane, call.call_id, "run" if call.epoch == state.epoch else "begin")

    monkeypatch.setattr(calls, "_started", started)
    failure = failed(limit=3)
    assert "has not settled after a day" in violations(failure)


def test_a_message_that_is_acknowledged_and_not_kept_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    async def send(store: Store, run_id: RunId, **message: object) -> str:
        return "qe_nothing"

    monkeypatch.setattr(outside, "send", send)
    spoken = Scenario(SPEC, tools, paying, acts=(say("Quick!", lambda state: state.attempt_count > 0),))
    assert "was acknowledged, and is not in the log" in violations(failed(spoken, limit=4))


def test_a_result_that_a_lost_race_forgets_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def forgets(self: Journal, records: Sequence[Record]) -> None:
        self.stage(record for record in records if record.type != "tool_call_finished")

    monkeypatch.setattr(Journal, "stage_observed", forgets)
    assert "attempt_failed" in violations(failed(limit=4))


def test_a_tool_that_ignores_its_end_fails_its_points_and_no_others() -> None:
    registry = ToolRegistry()

    @registry.register(annotations="read-only")
    async def look(name: str) -> str:
        """Look, and never away."""
        left = 30
        while left:
            try:
                await asyncio.sleep(GLANCE)
                left -= 1
            except asyncio.CancelledError:
                left = 1_000_000
        return name

    scenario = Scenario(
        SPEC.model_copy(update={"tools": (CodeTool(name="look"),)}), lambda: registry, looking
    )
    failure = failed(scenario)
    assert "ignores its cancellation" in violations(failure)
    assert min(point.number for point in failure.failed) > 10


def test_a_failure_is_told_with_its_points_and_their_logs() -> None:
    log = log_table(LogBuilder().admitted().attempt().entries())
    points = [FailedPoint(number, "after commit", ("one", "two"), log) for number in range(8)]
    failure = CrashFailed(points, 30)
    told = str(failure)
    assert told.startswith(
        "8 of 30 points failed; the first are:\n\npoint 0, after commit:\n  - one\n  - two\n"
    )
    assert told.count("point ") == 5
    assert told.endswith("   seq  epoch  record\n     1      0  run_admitted\n     2      1  attempt_started")
    assert len(failure.failed) == 8


# --- scenarios that cannot be judged --------------------------------------------------------------


def test_a_scenario_that_depends_on_chance_is_refused() -> None:
    registry = ToolRegistry()
    drawn = random.SystemRandom()

    @registry.register
    async def pay(cents: int) -> float:
        """Pay at random."""
        return drawn.random()

    scenario = Scenario(
        SPEC.model_copy(update={"tools": (CodeTool(name="pay"),)}),
        lambda: registry,
        lambda: FakeModel().turn(tool_calls=[("pay", {"cents": 1})]).turn("Paid."),
    )
    with pytest.raises(ScenarioNotDeterministic, match="tool_call_finished of pay") as caught:
        crash_everywhere(scenario)
    assert caught.value.seq == 7


def test_a_scenario_that_never_ends_is_stuck() -> None:
    nobody = Scenario(
        SPEC,
        tools,
        paying,
        people=lambda wait: None,
        runtime={"approval_selectors": ("@write",)},
    )
    with pytest.raises(ScenarioStuck, match="has not settled after a day"):
        crash_everywhere(nobody)


def test_it_owns_its_event_loop() -> None:
    async def inside() -> None:
        with pytest.raises(RuntimeError, match="crash_everywhere owns its event loop"):
            crash_everywhere(SCENARIO)
        with pytest.raises(RuntimeError, match="sigkill_everywhere owns its event loop"):
            sigkill_everywhere("a:b", store_url="memory:")

    asyncio.run(inside())


# --- people ---------------------------------------------------------------------------------------

ASKING = {"approval_selectors": ("@write",)}


def a_minute_later(wait: Wait) -> Later:
    return Later(Answer(approved=True), 60)


@pytest.mark.parametrize(
    "people",
    [approve_all, deny_all, a_minute_later],
    ids=["approve all", "deny all", "a minute later"],
)
def test_people_answer_through_every_crash(people: People) -> None:
    scenario = Scenario(SPEC, tools, paying, people=people, runtime=ASKING)
    assert crash_everywhere(scenario, limit=30).points > 20


def test_people_stop_a_run_through_every_crash() -> None:
    scenario = Scenario(SPEC, tools, paying, acts=(stop(lambda state: bool(state.calls)),))
    store = InMemoryStore(clock=VirtualClock())
    undisturbed = run_virtual(lambda: play(scenario, store, Pace()))
    assert [run.header.terminal for run in undisturbed.runs] == ["aborted"]
    assert crash_everywhere(scenario, limit=40).points > 20


def test_people_are_asked_once_about_each_wait() -> None:
    asked: list[Wait] = []

    def people(wait: Wait) -> Answer:
        asked.append(wait)
        return Answer(approved=True)

    crash_everywhere(Scenario(SPEC, tools, paying, people=people, runtime=ASKING), limit=1)
    assert len(asked) == len({wait.wait_id for wait in asked}) == 3


# --- which points ---------------------------------------------------------------------------------


def test_all_points_are_tried_up_to_the_limit() -> None:
    assert chosen(5, [2], 5, seed=0) == [0, 1, 2, 3, 4]


def test_beyond_it_the_ends_and_those_around_tools_come_first() -> None:
    picked = chosen(1_000, [500, 501], 10, seed=3)
    assert len(picked) == 10
    assert picked == sorted(picked)
    assert {0, 500, 501, 999} <= set(picked)
    assert picked == chosen(1_000, [500, 501], 10, seed=3)
    assert picked != chosen(1_000, [500, 501], 10, seed=4)
