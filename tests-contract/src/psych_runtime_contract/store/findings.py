"""Queries: each match once, newest first, whatever is asked for and whatever happens meanwhile."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from itertools import combinations
from typing import Any

import pytest

from psych_runtime_contract.store.base import StoreBase
from psych_runtime_contract.store.conditions import CONDITIONS, NOON, OLD, SECOND, some_runs
from psych_runtime_contract.store.endings import over, store_all
from psych_runtime_contract.store.scenes import START, admission, admit, append, claim, end
from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.queries import MAX_CURSOR, RunQuery
from psych_runtime_core.ports.runs import RunHeader, RunState
from psych_runtime_core.ports.store import Store

MOST_PAGES = 1_000
PAIRED = 2
"""So many values of a condition are tried, each with one of another."""


def newest_first(runs: Sequence[RunHeader]) -> list[RunHeader]:
    """By the time of creation, ties by the bytes of their ids."""
    return sorted(runs, key=lambda run: (run.created_at, run.run_id.encode()), reverse=True)


async def found(store: Store, limit: int = 1_000, **conditions: Any) -> list[RunHeader]:
    """What a query finds, page by page."""
    query = RunQuery(**conditions, limit=limit)
    page = await store.find_runs(query)
    runs = [*page.items]
    for _ in range(MOST_PAGES):
        if page.cursor is None:
            return runs
        assert 0 < len(page.cursor) <= MAX_CURSOR
        page = await store.find_runs(query, page.cursor)
        assert len(page.items) <= limit
        runs += page.items
    raise AssertionError(f"no end after {MOST_PAGES} pages of {query}")


async def with_some_runs(store: Store) -> list[RunHeader]:
    """The headers of the Runs that are stored, some of them leased."""
    writes = some_runs()
    await store_all(store, *writes)
    for number in range(4):
        await admit(store, f"leased_{number}", attempt_count=1, parked=number > 1, blobs=True)
        await claim(store, lease_seconds=3_600)
    names = [*(write.run_id for write in writes), *(f"leased_{number}" for number in range(4))]
    return newest_first([await store.get_run(RunId(name)) for name in names])


class Findings(StoreBase):
    """`find_runs`."""

    @pytest.mark.parametrize("name", CONDITIONS)
    async def test_a_condition_finds_what_it_says(self, store: Store, second: Store, name: str) -> None:
        runs = await with_some_runs(store)
        for wanted, holds in CONDITIONS[name]:
            condition: dict[str, Any] = {name: wanted}
            expected = [run for run in runs if holds(run)]
            assert await found(second, **condition) == expected, f"{condition}"
            assert await found(store, limit=3, **condition) == expected, f"{condition}, three at a time"

    async def test_conditions_in_pairs_must_both_hold(self, store: Store) -> None:
        runs = await with_some_runs(store)
        for one, other in combinations(CONDITIONS, 2):
            for value, other_value in list(zip(CONDITIONS[one], CONDITIONS[other], strict=False))[:PAIRED]:
                conditions: dict[str, Any] = {one: value[0], other: other_value[0]}
                expected = [run for run in runs if value[1](run) and other_value[1](run)]
                assert await found(store, **conditions) == expected, f"{conditions}"

    async def test_without_conditions_all_runs_are_found(self, store: Store) -> None:
        assert await found(store) == []
        assert await found(store, tenant="acme", labels={"team": "support"}, run_ids=frozenset()) == []
        runs = await with_some_runs(store)
        for limit in (1, 2, 7, 1_000):
            assert await found(store, limit) == runs

    # --- pages -------------------------------------------------------------------------------------------

    @pytest.mark.parametrize("limit", [1, 2, 3, 5])
    async def test_ties_are_told_apart_by_their_ids(self, store: Store, limit: int) -> None:
        names = ["b", "a", "B", "aa", "é", "\N{FULLWIDTH LATIN SMALL LETTER A}", "\N{GRINNING FACE}"]
        await store_all(store, *[admission(name, ready_at=None) for name in names])
        runs = [run.run_id for run in await found(store, limit, tenant="acme")]
        assert runs == sorted(names, key=str.encode, reverse=True)

    async def test_a_microsecond_decides_who_is_newer(self, store: Store) -> None:
        instants = [START + timedelta(microseconds=each) for each in (1, 0, 2)]
        await store_all(
            store, *[admission(f"run_{at.microsecond}", created_at=at, ready_at=None) for at in instants]
        )
        assert [run.run_id for run in await found(store, 1)] == ["run_2", "run_1", "run_0"]

    async def test_what_stays_is_found_once_whatever_comes_and_settles_between_pages(
        self, store: Store
    ) -> None:
        names = [f"run_{number:02}" for number in range(20)]
        await store_all(
            store,
            *[
                admission(name, created_at=START + SECOND * (number // 4), ready_at=None)
                for number, name in enumerate(names)
            ],
        )
        query = RunQuery(tenant="acme", states=frozenset({RunState.RUNNABLE, RunState.SETTLED}), limit=3)
        page = await store.find_runs(query)
        runs = [run.run_id for run in page.items]
        number = 0
        while page.cursor is not None:
            number += 1
            await admit(store, f"newer_{number:02}", created_at=NOON)
            older = admission(f"older_{number:02}", created_at=OLD, ready_at=None)
            tied = admission(f"run_00_{number:02}", created_at=START + SECOND * 2, ready_at=None)
            await store_all(store, older, tied)
            await end(store, (await claim(store)).lease)
            await append(store, "run_00")
            page = await store.find_runs(query, page.cursor)
            assert len(page.items) <= query.limit
            runs += [run.run_id for run in page.items]
            assert number < MOST_PAGES
        assert len(runs) == len(set(runs))
        assert [run_id for run_id in runs if run_id in names] == names[::-1]

    async def test_a_run_that_no_longer_matches_is_found_at_most_once(self, store: Store) -> None:
        for number in range(6):
            await admit(store, f"run_{number}")
        query = RunQuery(tenant="acme", states=frozenset({RunState.RUNNABLE}), limit=2)
        page = await store.find_runs(query)
        runs = [run.run_id for run in page.items]
        for _ in range(2):
            await end(store, (await claim(store)).lease)
        while page.cursor is not None:
            page = await store.find_runs(query, page.cursor)
            runs += [run.run_id for run in page.items]
        assert runs == ["run_5", "run_4", "run_3", "run_2"]

    # --- cursors -----------------------------------------------------------------------------------------

    @pytest.mark.parametrize(
        "other",
        [
            pytest.param({}, id="without conditions"),
            pytest.param({"tenant": "Acme"}, id="another tenant"),
            pytest.param({"tenant": "acme", "blobs": False}, id="one condition more"),
            pytest.param({"name": "acme"}, id="the same value of another field"),
        ],
    )
    async def test_a_cursor_of_another_query_is_refused(self, store: Store, other: dict[str, Any]) -> None:
        await store_all(store, *[admission(f"run_{number}", ready_at=None) for number in range(3)])
        page = await store.find_runs(RunQuery(tenant="acme", limit=1))
        assert page.cursor is not None
        with pytest.raises(ValueError):
            await store.find_runs(RunQuery(**other, limit=1), page.cursor)

    @pytest.mark.parametrize("cursor", ["", "x", "0", "a|b|c", "x" * (MAX_CURSOR + 1), "\x00", "é"])
    async def test_what_is_no_cursor_is_refused(self, store: Store, cursor: str) -> None:
        with pytest.raises(ValueError):
            await store.find_runs(RunQuery(tenant="acme"), cursor)

    async def test_a_cursor_serves_equal_conditions_and_any_limit(self, store: Store, second: Store) -> None:
        names = [f"run_{number}" for number in range(9)]
        await store_all(store, *[admission(name, ready_at=None) for name in names])
        both = [RunState.RUNNABLE, RunState.SETTLED]
        page = await store.find_runs(RunQuery(tenant="acme", states=frozenset(both), limit=2))
        rest = await second.find_runs(RunQuery(tenant="acme", states=frozenset(both[::-1])), page.cursor)
        assert [run.run_id for run in (*page.items, *rest.items)] == names[::-1]
        assert rest.cursor is None

    async def test_a_cursor_stands_where_its_run_is_gone(self, store: Store) -> None:
        await store_all(store, *[over(f"run_{number}") for number in range(4)])
        query = RunQuery(tenant="acme", limit=2)
        page = await store.find_runs(query)
        await store.purge(RunQuery(run_ids=frozenset({RunId("run_2")})))
        rest = await store.find_runs(query, page.cursor)
        assert [run.run_id for run in rest.items] == ["run_1", "run_0"]
