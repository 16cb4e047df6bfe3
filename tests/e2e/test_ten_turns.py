"""The ten-turn Run, on every store, under every crash, loss and delay: the same answer, every effect once."""

import random
from collections.abc import Callable

import pytest

from psych_runtime import InMemoryStore, Store
from psych_runtime.testing import ConflictingStore, VirtualClock, crash_everywhere, run_virtual
from psych_runtime.testing.play import Pace, Played, play
from psych_runtime.testing.switch import Switch
from psych_runtime.testing.verdict import unknown_calls, violations
from psych_runtime_core.records.queue import QueueConsumed
from psych_runtime_core.records.run import RunSettled
from psych_runtime_core.records.tool import ToolCallFinished
from tests.e2e.scenes import FOLLOW_UP, STEER, scenario
from tests.e2e.stage import CountingStore, LossyStore, SlowStore, only

PACE = Pace(lease=30.0, poll=5.0)


def played(disturbed: Callable[[Store], Store] = lambda store: store) -> Played:
    """The scenario in virtual time, its Worker and its people on a store that is disturbed."""
    return run_virtual(lambda: play(scenario, disturbed(InMemoryStore(clock=VirtualClock())), PACE))


@pytest.fixture(scope="module")
def baseline() -> Played:
    return played()


def test_it_answers_with_all_that_was_said_and_done(baseline: Played) -> None:
    assert list(violations(scenario, baseline, baseline)) == []
    (run,) = baseline.runs
    (settled,) = only(RunSettled, run.records)
    answer = str(settled.output)
    assert "refunded 900 for A1" in answer
    assert "refunded 400 for B2" in answer
    assert "reserved 6 of cup" in answer
    assert answer.count(STEER) == answer.count(FOLLOW_UP) == 1
    assert len(baseline.effects) == 13
    assert len(only(QueueConsumed, run.records)) == 2


async def test_it_goes_the_same_on_every_store(store: Store, baseline: Played) -> None:
    after = await play(scenario, store, Pace(lease=5.0, poll=0.5, patience=30.0))
    if isinstance(store, ConflictingStore):
        assert store.landed > 20
        return  # its foreign message is in the answer
    assert list(violations(scenario, baseline, after)) == []


@pytest.mark.timeout(300)
def test_a_worker_may_die_before_and_after_each_call_of_its_ports() -> None:
    report = crash_everywhere(scenario)
    assert report.points > 100
    assert 0 < len(report.unknown) < report.points / 2


@pytest.mark.timeout(300)
def test_a_worker_may_die_at_any_await() -> None:
    assert crash_everywhere(scenario, at="awaits", limit=60).points == 60


@pytest.mark.parametrize("moment", ["before", "after"])
def test_an_approved_call_whose_worker_dies_in_it_is_unknown_and_runs_no_more(moment: str) -> None:
    async def main(switch: Switch) -> Played:
        return await play(scenario, InMemoryStore(clock=VirtualClock()), PACE, switch)

    counted = Switch("commits")
    run_virtual(lambda: main(counted))
    deaths = [number for number, name in enumerate(counted.names) if name == f"{moment} tool refund"]
    assert len(deaths) == 2
    for death in deaths:
        after = run_virtual(lambda death=death: main(Switch("commits", death)))  # type: ignore[misc]  # bound now
        refunds = [each for each in after.effects if each.tool == "refund"]
        ends = [each for each in only(ToolCallFinished, after.runs[0].records) if each.tool == "refund"]
        assert sorted(end.outcome for end in ends) == ["ok", "unknown"]
        assert len(refunds) == (1 if moment == "before" else 2)
        assert after.runs[0].header.terminal == "completed"


def test_somebody_else_may_write_before_each_commit(baseline: Played) -> None:
    undisturbed, disturbed = list[CountingStore](), list[CountingStore]()
    stores: list[ConflictingStore] = []

    def counted(store: Store) -> Store:
        undisturbed.append(CountingStore(store))
        return undisturbed[0]

    def conflicting(store: Store) -> Store:
        stores.append(ConflictingStore(store))
        disturbed.append(CountingStore(stores[0]))
        return disturbed[0]

    played(counted)
    after = played(conflicting)
    assert answer_of(after).replace("A word from outside.\n", "") == answer_of(baseline)
    assert done(after) == done(baseline)
    assert not any(map(unknown_calls, after.runs))
    assert stores[0].landed > 20
    assert disturbed[0].calls["commit"] <= 2 * undisturbed[0].calls["commit"]


@pytest.mark.parametrize("seed", range(12))
def test_a_store_may_take_its_time(baseline: Played, seed: int) -> None:
    drawn = random.Random(seed)
    after = played(lambda store: SlowStore(store, lambda: drawn.choice([0.0, 0.001, 0.004, 0.02])))
    assert list(violations(scenario, baseline, after)) == []


@pytest.mark.parametrize("landed", [True, False], ids=["landed", "not landed"])
@pytest.mark.parametrize("seed", range(6))
def test_answers_of_the_store_may_be_lost(baseline: Played, seed: int, landed: bool) -> None:
    drawn, stores = random.Random(seed), list[LossyStore]()

    def lossy(store: Store) -> Store:
        stores.append(LossyStore(store, lambda: drawn.random() < 0.4, landed=lambda: landed))
        return stores[0]

    after = played(lossy)
    assert stores[0].losses > 5
    assert list(violations(scenario, baseline, after)) == []


def answer_of(played: Played) -> str:
    (settled,) = only(RunSettled, played.runs[0].records)
    assert settled.output is not None
    return str(settled.output["text"])


def done(played: Played) -> list[tuple[str, str]]:
    return sorted((each.tool, each.arguments_digest) for each in played.effects)
