"""Random histories: a Run ends, whoever acts and whatever dies, and none of its promises is broken."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import pytest
from hypothesis import given, settings

from packages.core.tests.plans import HASH, plan
from packages.core.tests.pump import Pump
from packages.core.tests.tape import Tape, tapes
from packages.core.tests.world import ANSWER_SCHEMA, ONCE, World
from psych_runtime_core.engine.decide import next_effects
from psych_runtime_core.engine.plan import Plan
from psych_runtime_core.records import Record
from psych_runtime_core.records.record import RECORD_CLASSES
from psych_runtime_core.records.tool import ToolCallFinished, ToolCallStarted
from psych_runtime_core.records.turn import ModelCallFinished, TurnStarted
from psych_runtime_core.state.fold import fold

BEGINS = {"turn_started", "queue_consumed", "model_call_started", "tool_call_started", "suspended"}


def drawn_plan(tape: Tape) -> Plan:
    return plan(
        *("b", "c")[: tape.below(3)],
        output_schema=ANSWER_SCHEMA if tape.below(3) == 1 else None,
        max_turns=12 - tape.below(10),
        max_steps=16 - tape.below(14),
        max_tool_calls_per_turn=3 - tape.below(2),
        transient_retry_budget=6 - tape.below(6),
        failure_streak_threshold=2,
        failure_streak_hard_stop=4,
        repeat_call_threshold=2,
        repeat_call_hard_stop=4,
    )


def history(tape: Tape) -> Pump:
    pump = Pump(World(tape, drawn_plan(tape)))
    pump.run()
    return pump


def announced(log: Iterable[Record]) -> list[str]:
    return [call.call_id for record in log if isinstance(record, ModelCallFinished) for call in record.calls]


def finished(log: Iterable[Record]) -> list[str]:
    return [record.call_id for record in log if isinstance(record, ToolCallFinished)]


def test_random_histories_keep_every_promise() -> None:
    seen: Counter[str] = Counter()

    @given(tapes(800))
    @settings(max_examples=600)
    def histories(tape: Tape) -> None:
        pump = history(tape)
        log = pump.log
        seen.update(record.type for record in log)
        seen.update(f"run {record.model_dump()['state']}" for record in log[-1:])
        seen.update(f"call {record.outcome}" for record in log if isinstance(record, ToolCallFinished))
        seen.update(f"answer {record.outcome}" for record in answers(log))
        seen.update("repair" for record in log if isinstance(record, TurnStarted) and record.repair)
        assert [record.seq for record in log] == list(range(1, len(log) + 1))
        assert log[-1].type == "run_settled"
        assert fold(log, run_id=log[0].run_id) == pump.state
        assert sorted(finished(log)) == sorted(announced(log))
        assert_nothing_ran_twice(pump)
        assert_nothing_began_after_an_abort(log)
        assert_no_budget_was_passed(pump)
        assert_a_completed_run_read_its_messages(pump)
        assert_a_completed_run_has_an_answer_that_fits(pump)

    histories()
    assert {"answer ok", "answer refused", "repair"} <= seen.keys()
    assert set(RECORD_CLASSES) - seen.keys() == set()
    assert {f"call {outcome}" for outcome in ("ok", "error", "aborted", "unknown", "refused")} <= seen.keys()
    ends = {f"run {state}" for state in ("completed", "failed", "aborted", "abandoned", "force_settled")}
    assert ends <= seen.keys()


def assert_nothing_ran_twice(pump: Pump) -> None:
    times = Counter(call_id for call_id, tool in pump.world.ran if tool in ONCE)
    assert all(count == 1 for count in times.values())
    recorded = {record.call_id for record in pump.log if isinstance(record, ToolCallStarted)}
    assert {call_id for call_id, _ in pump.world.ran} <= recorded


def assert_nothing_began_after_an_abort(log: list[Record]) -> None:
    asked = next((record.seq for record in log if record.type == "abort_requested"), None)
    if asked is not None:
        assert not BEGINS & {record.type for record in log[asked:]}
        assert log[-1].model_dump()["state"] != "completed"


def assert_no_budget_was_passed(pump: Pump) -> None:
    begun = {record.call_id for record in pump.log if isinstance(record, ToolCallStarted)}
    opened = [record for record in pump.log if record.type == "turn_started"]
    assert len(begun) <= pump.plan.limits.max_steps
    assert len(opened) <= pump.plan.limits.max_turns


def assert_a_completed_run_read_its_messages(pump: Pump) -> None:
    if pump.state.terminal_state == "completed":
        assert not pump.state.pending


def answers(log: Iterable[Record]) -> list[ToolCallFinished]:
    return [one for one in log if isinstance(one, ToolCallFinished) and one.tool == "final_answer"]


def assert_a_completed_run_has_an_answer_that_fits(pump: Pump) -> None:
    if pump.state.terminal_state == "completed" and pump.plan.spec.output_schema is not None:
        settled = pump.state.settled
        assert settled is not None
        assert settled.output is not None
        assert settled.output["value"] == {"n": 1}


@given(tapes(300))
@settings(max_examples=40)
def test_every_prefix_of_a_history_can_be_driven_to_its_end(tape: Tape) -> None:
    pump = history(tape)
    for cut in range(1, len(pump.log)):
        prefix = pump.log[:cut]
        state = fold(prefix, run_id=prefix[0].run_id)
        assert next_effects({HASH: pump.plan}, state, pump.now)
        calm = Pump(World(Tape(b""), pump.plan), [*prefix], prefix[-1].at, deaths=0)
        assert calm.run().settled is not None
        assert calm.log[:cut] == prefix
        assert sorted(finished(calm.log)) == sorted(announced(calm.log))


@pytest.mark.parametrize("seed", range(4))
def test_a_worker_that_dies_after_every_commit_still_ends_the_run(seed: int) -> None:
    tape = Tape(bytes([seed * 31 + n * 7 & 255 for n in range(200)]))
    pump = Pump(World(tape, plan()), deaths=0)
    while pump.state.settled is None:
        pump.take_up()
        pump.step()
        if pump.observed:
            pump.commit()
    assert sorted(finished(pump.log)) == sorted(announced(pump.log))
