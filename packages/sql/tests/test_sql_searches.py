"""Searches walk one range of one index, look at so many Runs a call, and lose none on the way."""

import asyncio
import sqlite3
from collections.abc import Coroutine, Generator, Sequence
from datetime import timedelta
from typing import Any, TypeVar

import pytest
from sqlalchemy.dialects.sqlite import dialect as sqlite_dialect

from psych_runtime.testing.clock import START
from psych_runtime_contract.store.scenes import admission
from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.queries import Page, RunQuery
from psych_runtime_core.ports.runs import Lifecycle, RunHeader, RunState
from psych_runtime_sql.driver import Row
from psych_runtime_sql.migrator import Migrator
from psych_runtime_sql.operations import Operations
from psych_runtime_sqlite.connection import SQLiteDriver

T = TypeVar("T")

DIALECT = sqlite_dialect(paramstyle="qmark")
OPERATIONS = Operations(DIALECT)
RUNS = 300


class Recorder:
    """A driver that keeps what it was asked."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection, self._driver = connection, SQLiteDriver(connection)
        self.asked: list[tuple[str, Sequence[Any]]] = []

    async def fetch(self, sql: str, params: Sequence[object] = ()) -> Sequence[Row]:
        self.asked.append((sql, params))
        return await self._driver.fetch(sql, params)

    def plans(self) -> list[list[str]]:
        """How each statement was answered."""
        return [
            [row[3] for row in self._connection.execute(f"EXPLAIN QUERY PLAN {sql}", params)]
            for sql, params in self.asked
        ]


def run(operation: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(operation)


@pytest.fixture
def driver() -> Generator[Recorder]:
    """A migrated database with Runs of two tenants, a third of them children."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    run(Migrator(DIALECT).migrate(SQLiteDriver(connection), "post", START, plan=False))
    recorder = Recorder(connection)
    run(store_runs(recorder))
    recorder.asked.clear()
    yield recorder
    connection.close()


async def store_runs(driver: Recorder) -> None:
    for number in range(RUNS):
        run_id, root = f"run_{number:03}", f"run_{number - number % 3:03}"
        write = admission(
            run_id,
            tenant="acme" if number % 2 else "other",
            name="rare" if number % 100 == 0 else "common",
            root_run_id=root,
            parent_run_id=root if root != run_id else None,
            continues_run_id="run_000" if number == 7 else None,
            idempotency_key=run_id,
            created_at=START + timedelta(seconds=number // 10),
        )
        await OPERATIONS.runs.commit(driver, [write], START)


async def page(driver: Recorder, query: RunQuery, cursor: str | None = None) -> Page[RunHeader]:
    return await OPERATIONS.finder.page(driver, query, cursor)


@pytest.mark.parametrize(
    ("conditions", "index"),
    [
        pytest.param({}, "psych_run_created", id="all"),
        pytest.param({"name": "rare"}, "psych_run_created", id="what has no index"),
        pytest.param({"created_after": START, "created_before": START}, "psych_run_created", id="created"),
        pytest.param({"tenant": "acme"}, "psych_run_tenant", id="tenant"),
        pytest.param({"tenant": "acme", "blobs": False}, "psych_run_tenant", id="tenant and more"),
        pytest.param({"root_run_id": "run_000"}, "psych_run_root", id="root"),
        pytest.param({"parent_run_id": "run_000"}, "psych_run_parent", id="parent"),
        pytest.param({"continues_run_id": "run_000"}, "psych_run_continues", id="continues"),
        pytest.param({"tenant": "acme", "states": {RunState.RUNNABLE}}, "psych_work_open", id="open state"),
    ],
)
def test_a_page_is_a_range_of_its_index_in_order(
    driver: Recorder, conditions: dict[str, Any], index: str
) -> None:
    run(page(driver, RunQuery(limit=1_000, **conditions)))
    *_, walk = driver.plans()
    assert walk == [step for step in walk if index in step]
    if conditions and conditions != {"name": "rare"}:
        assert all("SEARCH" in step for step in walk)
    assert not any("TEMP B-TREE" in step for step in walk), "it is read in its order"


@pytest.mark.parametrize(
    ("conditions", "index"),
    [
        pytest.param({"run_ids": {"run_000"}}, "psych_run USING PRIMARY KEY", id="ids"),
        pytest.param(
            {"tenant": "acme", "idempotency_key": "run_001"}, "psych_key USING PRIMARY KEY", id="key"
        ),
        pytest.param({"lifecycles": {Lifecycle.QUEUED}}, "psych_work_open", id="open lifecycles"),
    ],
)
def test_a_narrow_range_is_found_at_its_index(
    driver: Recorder, conditions: dict[str, Any], index: str
) -> None:
    run(page(driver, RunQuery(**conditions)))
    plan = driver.plans()[0]
    assert any(index in step for step in plan), plan
    assert not any(step.startswith("SCAN psych_") for step in plan), plan


def test_a_page_looks_at_no_more_than_twenty_times_what_it_may_have(driver: Recorder) -> None:
    found = run(page(driver, RunQuery(name="rare", limit=1)))
    assert (found.items, found.cursor is not None) == ((), True), "the nearest rare one is further away"
    ids: list[str] = []
    pages = 0
    cursor: str | None = None
    while pages == 0 or cursor is not None:
        found = run(page(driver, RunQuery(name="rare", limit=1), cursor))
        ids += [header.run_id for header in found.items]
        cursor, pages = found.cursor, pages + 1
    assert ids == ["run_200", "run_100", "run_000"]
    assert RUNS / 20 <= pages <= RUNS / 20 + 3


@pytest.mark.parametrize("limit", [7, 20, 299, 300, 301])
def test_pages_of_any_size_show_each_run_once_newest_first(driver: Recorder, limit: int) -> None:
    ids: list[RunId] = []
    cursor: str | None = None
    while len(ids) < RUNS + 1:
        found = run(page(driver, RunQuery(limit=limit), cursor))
        ids += [header.run_id for header in found.items]
        if (cursor := found.cursor) is None:
            break
    assert ids == [f"run_{number:03}" for number in reversed(range(RUNS))]


@pytest.mark.parametrize(
    "conditions",
    [
        pytest.param({}, id="whatever they are"),
        pytest.param({"idempotency_key": "run_001"}, id="a key of any tenant is found by nothing"),
    ],
)
def test_trees_that_may_go_are_found_by_when_they_ended(driver: Recorder, conditions: dict[str, Any]) -> None:
    query = RunQuery(settled_before=START, **conditions)
    run(OPERATIONS.trees.that_are_over(driver, query, None))
    _, walk, _ = driver.plans()
    assert walk == ["SEARCH psych_run USING INDEX psych_run_settled (settled_at<?)"]


def test_a_tree_is_looked_at_by_itself_however_many_runs_its_tenant_has(driver: Recorder) -> None:
    run(OPERATIONS.trees.that_are_over(driver, RunQuery(run_ids=frozenset({RunId("run_000")})), None))
    run(OPERATIONS.trees.remove(driver, [], [RunId("run_000")], START))
    steps = [step for plan in driver.plans() for step in plan]
    of_tree = [step for step in steps if step.startswith(("SEARCH member", "SEARCH other", "SEARCH heir"))]
    assert {step.partition(" USING ")[2] for step in of_tree} == {
        "INDEX psych_run_root (root_run_id=?)",
        "INDEX psych_run_root (root_run_id=? AND (created_at,run_id)<(?,?))",
        "INDEX psych_run_continues (continues_run_id=?)",
    }
    assert not [step for step in steps if "psych_run_tenant" in step]


def test_statistics_and_caps_are_counted_at_their_index(driver: Recorder) -> None:
    run(OPERATIONS.stats.of(driver, None, 20, START))
    run(OPERATIONS.stats.of(driver, "acme", 20, START))
    values = {"tenant": "acme", "now": 0, "limit": 3}
    run(OPERATIONS.statements.leased.fetch(driver, values))
    for plan in driver.plans():
        (walk,) = [step for step in plan if "psych_work" in step]
        assert walk.startswith("SEARCH psych_work USING INDEX psych_work_open"), plan


def test_marks_and_keys_are_found_at_their_indexes(driver: Recorder) -> None:
    run(OPERATIONS.marks.unfinished(driver, START))
    run(OPERATIONS.keys.known(driver, "acme", "run_001", START))
    run(OPERATIONS.keys.note(driver, admission().header, START))
    run(OPERATIONS.admissions.let_go(driver, [RunId("run_000")], START))
    plans = [step for plan in driver.plans() for step in plan if " psych_" in step]
    assert not [step for step in plans if step.startswith("SCAN") and "INDEX" not in step], plans
    for index in ("psych_mark_at", "psych_key USING PRIMARY KEY", "psych_key_forget", "psych_key_run"):
        assert any(index in step for step in plans), plans
