"""How the queue looks at many Versions, tenants and moments, and how much one transaction may take away."""

import asyncio
import random
import sqlite3
from collections.abc import Coroutine, Generator
from datetime import datetime, timedelta
from typing import Any, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy.dialects.sqlite import dialect as sqlite_dialect

from psych_runtime.testing.clock import START
from psych_runtime_contract.store.scenes import admission, copies
from psych_runtime_core.ids import RunId, VersionHash, WorkerId
from psych_runtime_core.ports.claims import ClaimFilter, ClaimRequest, Claims
from psych_runtime_sql.leases import Leases
from psych_runtime_sql.migrator import Migrator
from psych_runtime_sql.operations import Operations
from psych_runtime_sql.outcome import Outcome
from psych_runtime_sql.queue import TENANTS_IN_VAIN, Picked, Queue, deal
from psych_runtime_sql.statements import PROMOTED_AT_ONCE
from psych_runtime_sql.sweeps import Budget
from psych_runtime_sql.versions_in_turn import LOOKED_AT_ONCE, VersionsInTurn
from psych_runtime_sqlite.connection import SQLiteDriver

T = TypeVar("T")

MINUTE = timedelta(minutes=1)
DIALECT = sqlite_dialect(paramstyle="qmark")
OPERATIONS = Operations(DIALECT)
RUNS = st.lists(st.integers(0, 99).map(lambda number: RunId(f"run_{number}")), max_size=6)


def run(operation: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(operation)


@pytest.fixture
def driver() -> Generator[SQLiteDriver]:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    driver = SQLiteDriver(connection)
    run(Migrator(DIALECT).migrate(driver, "post", START, plan=False))
    yield driver
    connection.close()


def store(driver: SQLiteDriver, versions: int) -> list[VersionHash]:
    """A Run of each of so many Versions."""
    names = [VersionHash(f"version_{number:03}") for number in range(versions)]
    for name in names:
        write = admission(f"run_{name}", version_hash=name)
        run(OPERATIONS.runs.commit(driver, [write], START))
    return names


def test_up_to_64_versions_are_all_looked_at_each_time(driver: SQLiteDriver) -> None:
    names = store(driver, LOOKED_AT_ONCE)
    versions = VersionsInTurn(OPERATIONS.statements)
    for _ in range(2):
        assert sorted(run(versions.of(driver, "acme", ()))) == names


def test_more_versions_are_looked_at_64_at_a_time_in_turn(driver: SQLiteDriver) -> None:
    names = store(driver, 2 * LOOKED_AT_ONCE + 1)
    versions = VersionsInTurn(OPERATIONS.statements)
    looks = [run(versions.of(driver, "acme", ())) for _ in range(3)]
    assert [len(set(look)) for look in looks] == [LOOKED_AT_ONCE] * 3
    assert {name for look in looks for name in look} == set(names)


def test_versions_that_are_left_out_take_no_place(driver: SQLiteDriver) -> None:
    names = store(driver, LOOKED_AT_ONCE + 10)
    versions = VersionsInTurn(OPERATIONS.statements)
    assert run(versions.of(driver, "acme", set(names[:LOOKED_AT_ONCE]))) == names[LOOKED_AT_ONCE:]
    assert run(versions.of(driver, "nobody", ())) == []


# --- how much one claim looks at -------------------------------------------------------------------------


def claims(driver: SQLiteDriver, at: datetime = START, limit: int = 4, **only: Any) -> Outcome[Claims]:
    """What a claim gives, of a Worker that has not claimed before."""
    request = ClaimRequest(WorkerId("worker"), limit, 600, ClaimFilter(**only))
    return run(Leases(OPERATIONS.statements, OPERATIONS.lookout).claim(driver, request, at))


def test_a_claim_makes_256_of_what_is_due_ready_and_tells_that_there_is_more(driver: SQLiteDriver) -> None:
    write = admission(ready_at=START + MINUTE)
    for copy in copies(write, *[f"run_{number:03}" for number in range(PROMOTED_AT_ONCE + 1)]):
        run(OPERATIONS.runs.commit(driver, [copy], START))
    run(OPERATIONS.runs.commit(driver, [admission("z", tenant="z", ready_at=START + MINUTE)], START))
    only = frozenset({"z"})
    first, second = (claims(driver, START + MINUTE, tenants=only) for _ in range(2))
    assert (first.answer, first.ready) == (Claims((), more=True), True)
    assert [each.header.run_id for each in second.answer.claims] == ["z"]
    assert (second.answer.more, second.ready) == (False, False)


def test_a_claim_that_has_enough_tells_of_nothing_that_is_due(driver: SQLiteDriver) -> None:
    for copy in copies(admission(ready_at=START + MINUTE), *map(str, range(PROMOTED_AT_ONCE + 1))):
        run(OPERATIONS.runs.commit(driver, [copy], START))
    taken = claims(driver, START + MINUTE)
    assert (len(taken.answer.claims), taken.answer.more, taken.ready) == (4, False, False)


def test_a_lease_that_is_renewed_once_the_clock_fell_back_is_due_at_its_end_again(
    driver: SQLiteDriver,
) -> None:
    run(OPERATIONS.runs.commit(driver, [admission()], START))
    leases = Leases(OPERATIONS.statements, OPERATIONS.lookout)
    asked = ClaimRequest(WorkerId("worker"), lease_seconds=30)
    (taken,) = run(leases.claim(driver, asked, START)).answer.claims
    claims(driver, START + MINUTE, exclude=frozenset({taken.lease.run_id}))
    assert is_ready(driver)
    run(leases.renew(driver, [taken.lease], 30, START))
    assert not is_ready(driver)


def is_ready(driver: SQLiteDriver) -> bool:
    """Whether the one Run stands among the ready ones."""
    tenants = run(OPERATIONS.statements.next_tenant.fetch(driver, {"behind": ""}))
    return bool(tenants)


@pytest.mark.parametrize("named", [False, True], ids=["of all tenants", "of named ones"])
def test_tenants_that_give_nothing_are_looked_at_64_at_a_time_in_turn(
    driver: SQLiteDriver, monkeypatch: pytest.MonkeyPatch, named: bool
) -> None:
    monkeypatch.setattr(random, "choice", min)
    tenants = [f"t{number:03}" for number in range(2 * TENANTS_IN_VAIN)]
    for tenant in tenants:
        for run_id in (f"{tenant}_a", f"{tenant}_b"):
            run(OPERATIONS.runs.commit(driver, [admission(run_id, tenant=tenant)], START))
        assert claims(driver, limit=1, tenants=frozenset({tenant})).answer.claims
    run(OPERATIONS.runs.commit(driver, [admission("last", tenant="z")], START))
    # One that is idle takes no place.
    those = frozenset([*tenants, "idle", "z"]) if named else None
    only, queue = ClaimFilter(tenants=those, tenant_concurrency=1), Queue(OPERATIONS.statements)
    picks = [run(queue.pick(driver, WorkerId("w"), 1, only, START)) for _ in range(3)]
    assert picks == [Picked((), more=True, due=False)] * 2 + [Picked((RunId("last"),), False, False)]


@given(st.dictionaries(st.sampled_from("abcdef"), RUNS), st.integers(1, 20))
def test_a_deal_goes_round_and_gives_what_there_is(first: dict[str, list[RunId]], limit: int) -> None:
    dealt = deal(first, limit)
    assert len(dealt) == min(limit, sum(map(len, first.values())))
    for tenant, runs in first.items():
        assert [run_id for name, run_id in dealt if name == tenant] == runs[: count(dealt, tenant)]
    most = max((count(dealt, tenant) for tenant in first), default=0)
    waiting = [tenant for tenant, runs in first.items() if count(dealt, tenant) < len(runs)]
    assert all(count(dealt, tenant) >= most - 1 for tenant in waiting)


def count(dealt: list[tuple[str, RunId]], tenant: str) -> int:
    return sum(name == tenant for name, _ in dealt)


@given(st.lists(st.integers(0, 50)), st.integers(0, 10), st.integers(0, 100))
def test_a_budget_allows_the_first_rows_that_fit(sizes: list[int], rows: int, size: int) -> None:
    budget = Budget(rows, size)
    taken = budget.take(sizes)
    assert taken <= rows
    assert sum(sizes[:taken]) <= size
    assert (budget.rows, budget.bytes) == (rows - taken, size - sum(sizes[:taken]))
    more_fits = taken < len(sizes) and taken < rows and sum(sizes[: taken + 1]) <= size
    assert not more_fits
