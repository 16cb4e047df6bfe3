"""Agents that go in circles, spend too much or fail too often: withheld, refused, stopped."""

from collections.abc import Mapping

import pytest

from psych_runtime import RunStateView, Store, ToolRegistry
from psych_runtime.testing import EffectLedger, FakeModel
from psych_runtime_core.jsonvalue import Json
from psych_runtime_core.messages import FinishReason
from psych_runtime_core.records.tool import ToolCallFinished
from psych_runtime_core.spec.limits import Limits
from tests.e2e.stage import agent, at_work, begun, ended, results


def tools() -> ToolRegistry:
    registry = ToolRegistry()
    drawn = iter(range(10_000))

    @registry.register
    async def fail(name: str) -> str:
        """Fail."""
        raise ValueError(f"no {name}")

    @registry.register
    async def same(name: str) -> str:
        """Give the same each time."""
        return "as ever"

    @registry.register
    async def draw(name: str) -> int:
        """Give another number each time."""
        return next(drawn)

    return registry


Turns = list[list[tuple[str, Mapping[str, Json]]]]


def calls(tool: str, *names: str) -> list[tuple[str, Mapping[str, Json]]]:
    return [(tool, {"name": name}) for name in names]


async def played(
    store: Store, turns: Turns, **limits: int
) -> tuple[RunStateView, list[ToolCallFinished], EffectLedger]:
    """The end of a Run whose model makes these calls, turn by turn, and answers."""
    model, ledger = FakeModel(), EffectLedger()
    for turn in turns:
        model.turn(tool_calls=turn)
    model.turn("Done.")
    async with at_work(store, model, ledger.wrap(tools())):
        run_id = await begun(store, agent("fail", "same", "draw", limits=Limits.model_validate(limits)))
        state = await ended(store, run_id, ledger)
    return state, await results(store, run_id), ledger


def kinds(ends: list[ToolCallFinished]) -> list[str]:
    return [end.failure.kind if end.failure else "ok" for end in ends]


def failed_as(state: RunStateView) -> str | None:
    assert state.settled is not None
    return state.settled.failure.kind if state.settled.failure else None


async def test_a_tool_that_fails_three_times_is_withheld_for_one_turn(store: Store) -> None:
    turns: Turns = [calls("fail", str(turn)) for turn in range(5)]
    state, ends, ledger = await played(store, turns)
    assert kinds(ends) == ["ValueError"] * 3 + ["failure_streak", "ValueError"]
    assert "withheld" in str(ends[2].failure)
    assert len(ledger.invocations) == 4
    assert state.terminal_state == "completed"


async def test_one_that_goes_on_failing_ends_the_run(store: Store) -> None:
    turns: Turns = [calls("fail", str(turn)) for turn in range(9)]
    state, ends, _ = await played(store, turns)
    assert failed_as(state) == "failure_streak"
    assert kinds(ends).count("ValueError") == 6


async def test_an_equal_call_is_refused_the_third_time_and_ends_the_run_the_sixth(store: Store) -> None:
    turns: Turns = [calls("same", "it") for _ in range(9)]
    state, ends, ledger = await played(store, turns)
    assert kinds(ends) == ["ok", "ok", *["repeated_call"] * 4]
    assert len(ledger.invocations) == 2
    assert failed_as(state) == "repeated_call"


async def test_an_equal_call_with_other_answers_is_never_refused(store: Store) -> None:
    turns: Turns = [calls("draw", "it") for _ in range(12)]
    state, ends, _ = await played(store, turns)
    assert kinds(ends) == ["ok"] * 12
    assert state.terminal_state == "completed"


async def test_the_last_turn_there_may_be_is_the_last(store: Store) -> None:
    turns: Turns = [calls("draw", str(turn)) for turn in range(9)]
    state, ends, _ = await played(store, turns, max_turns=4)
    assert failed_as(state) == "budget_exhausted"
    assert len(ends) == 4


@pytest.mark.parametrize(("steps", "ran"), [(1, 1), (4, 4), (5, 5)])
async def test_no_call_runs_past_the_budget(store: Store, steps: int, ran: int) -> None:
    turns: Turns = [calls("draw", "a", "b", "c"), calls("draw", "d", "e", "f")]
    state, ends, ledger = await played(store, turns, max_steps=steps)
    assert len(ledger.invocations) == ran
    assert "budget_exhausted" in kinds(ends)
    assert failed_as(state) == "budget_exhausted"


@pytest.mark.parametrize(
    ("reason", "kind", "end"),
    [
        (FinishReason.LENGTH, "truncated_call", None),
        (FinishReason.CONTENT_FILTER, "content_filter", "content_filter"),
    ],
)
async def test_a_call_of_an_answer_that_was_cut_does_not_run(
    store: Store, reason: FinishReason, kind: str, end: str | None
) -> None:
    model, ledger = FakeModel(), EffectLedger()
    model.turn(tool_calls=calls("draw", "a"), finish_reason=reason).turn("Done.")
    async with at_work(store, model, ledger.wrap(tools())):
        run_id = await begun(store, agent("draw"))
        state = await ended(store, run_id, ledger)
    assert kinds(await results(store, run_id)) == [kind]
    assert ledger.invocations == ()
    assert failed_as(state) == end


@pytest.mark.parametrize("reason", [FinishReason.LENGTH, FinishReason.CONTENT_FILTER])
async def test_an_answer_that_was_cut_completes_nothing(store: Store, reason: FinishReason) -> None:
    async with at_work(store, FakeModel().turn("Half of it", finish_reason=reason)):
        state = await ended(store, await begun(store, agent()))
    assert state.terminal_state == "failed"
    assert state.settled is not None
    assert state.settled.output is None


REFUSALS = {"raises_permanent": "permanent", "rejects_auth": "auth", "overflows": "context_overflow"}


@pytest.mark.parametrize(("breaks", "kind"), [*REFUSALS.items(), ("filters", "content_filter")])
async def test_a_model_that_will_not_answer_fails_the_run(store: Store, breaks: str, kind: str) -> None:
    model = FakeModel()
    getattr(model, breaks)().turn("Never asked.")
    async with at_work(store, model):
        state = await ended(store, await begun(store, agent()))
    assert failed_as(state) == kind
    assert len(model.calls) == 1
