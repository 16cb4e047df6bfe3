"""What counts of Runs come to, as every store tells it."""

from collections import Counter
from datetime import datetime, timedelta

import pytest

from psych_runtime.testing.clock import START
from psych_runtime_core.ports.reports import MOST_COUNTED, Counts, store_stats
from psych_runtime_core.ports.runs import RunState

RUNNABLE, RUNNING, SUSPENDED = RunState.RUNNABLE, RunState.RUNNING, RunState.SUSPENDED
Standing = dict[tuple[RunState, bool], int]


def counts(standing: Standing, since: datetime | None = None) -> Counts:
    return Counts(Counter(standing), since)


@pytest.mark.parametrize(
    ("standing", "told"),
    [
        pytest.param({}, (0, 0, 0, 0, False), id="nothing"),
        pytest.param({(RUNNABLE, True): 3}, (3, 0, 0, 0, False), id="ready"),
        pytest.param({(RUNNABLE, False): 3}, (0, 0, 0, 0, False), id="delayed"),
        pytest.param({(SUSPENDED, False): 3}, (0, 0, 3, 0, False), id="parked"),
        pytest.param({(SUSPENDED, True): 3}, (3, 0, 0, 0, False), id="parked, and its time has come"),
        pytest.param({(RUNNING, False): 3}, (0, 3, 0, 0, False), id="leased"),
        pytest.param({(RUNNING, True): 3}, (0, 3, 0, 3, False), id="a lease that expired"),
        pytest.param({(RUNNABLE, True): MOST_COUNTED}, (MOST_COUNTED, 0, 0, 0, False), id="the most"),
        pytest.param({(RUNNABLE, True): MOST_COUNTED + 1}, (MOST_COUNTED, 0, 0, 0, True), id="one more"),
        pytest.param({(RUNNABLE, False): MOST_COUNTED + 1}, (0, 0, 0, 0, True), id="more than are walked"),
        pytest.param(
            {(RUNNING, True): 1, (RUNNING, False): MOST_COUNTED}, (0, MOST_COUNTED, 0, 1, True), id="a state"
        ),
        pytest.param(
            {(RUNNABLE, True): 1, (SUSPENDED, True): MOST_COUNTED},
            (MOST_COUNTED, 0, 0, 0, True),
            id="ready ones of two states that are each walked whole",
        ),
    ],
)
def test_a_run_is_counted_as_what_it_is(standing: Standing, told: tuple[int, int, int, int, bool]) -> None:
    stats = store_stats(START, {"acme": counts(standing)}, 5)
    numbers = (stats.ready, stats.running, stats.suspended, stats.expired_leases)
    assert (*numbers, stats.capped) == told


def test_what_several_tenants_have_is_added_up_and_capped_together() -> None:
    half = MOST_COUNTED // 2 + 1
    by_tenant = {name: counts({(RUNNABLE, True): half}, START) for name in ("acme", "globex")}
    stats = store_stats(START, by_tenant, 5)
    assert (stats.ready, stats.capped) == (MOST_COUNTED, True)
    assert [tenant.ready for tenant in stats.tenants] == [half, half]


def test_the_tenants_told_are_those_whose_ready_work_is_oldest() -> None:
    ages = {"b": 5, "a": 5, "late": 1, "old": 9, "idle": None}
    by_tenant = {
        name: counts(
            {(RUNNABLE, age is not None): 1}, None if age is None else START - timedelta(seconds=age)
        )
        for name, age in ages.items()
    }
    stats = store_stats(START, by_tenant, 3)
    told = [(tenant.tenant, tenant.oldest_ready_seconds) for tenant in stats.tenants]
    assert told == [("old", 9), ("a", 5), ("b", 5)], "ties by name"
    assert stats.oldest_ready_seconds == 9
    assert store_stats(START, by_tenant, 0).tenants == ()
    assert store_stats(START, {}, 3).oldest_ready_seconds is None
