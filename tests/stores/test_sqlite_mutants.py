"""A store that is wrong where one of several transactions can be fails the test that states its rule."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from psych_runtime_contract.store.judging import OpenStore, failure
from psych_runtime_core.clock import Clock
from psych_runtime_core.errors import StoreError
from psych_runtime_core.ports.runs import RunHeader
from psych_runtime_sql.driver import Driver
from psych_runtime_sql.marks import Mark, MarkKind
from psych_runtime_sql.outcome import Outcome
from psych_runtime_sql.sweeps import Budget, EntrySweep, Sweeper
from psych_runtime_sql.trees import Trees
from psych_runtime_sqlite import SQLiteStore
from psych_runtime_sqlite.access import FileAccess
from tests.stores import test_sqlite_store
from tests.stores.failing_connection import FailingConnection

CUT = "test_a_purge_that_is_cut_anywhere_leaves_whole_runs_and_is_repeated"
DRIVER = "test_what_the_driver_raises_is_told_in_words_of_the_port"
# Whether a cut falls between two slices is for the writer's thread to say.
TRIES = 10
KEPT = ("test_the_limit_counts_trees", "test_a_tree_goes_whole_children_first_and_the_root_last")


@dataclass(frozen=True)
class Fault:
    """A fault by its name, and how it comes to be. `words` are in what `test` says of it."""

    name: str
    befall: Callable[[pytest.MonkeyPatch], None]
    test: str
    words: str


def run_visible_between_slices(patch: pytest.MonkeyPatch) -> None:
    """The header goes with the last slice of the log, instead of before the first."""
    sweep = EntrySweep.__call__

    async def marked(
        self: Trees, driver: Driver, runs: Sequence[RunHeader], tops: Iterable[str], now: datetime
    ) -> Any:
        del self, tops
        marks = [Mark(each.run_id, MarkKind.PURGE, each.scope.tenant, now) for each in runs]
        for mark in marks:
            row = (mark.id, mark.kind.value, mark.tenant, 0)
            await driver.fetch("INSERT INTO psych_mark (id, kind, tenant, at) VALUES (?, ?, ?, ?)", row)
        # As it is read.
        epoch = datetime.fromtimestamp(0, now.tzinfo)
        return Outcome(tuple(Mark(each.id, each.kind, each.tenant, epoch) for each in marks))

    async def swept(self: EntrySweep, driver: Driver, mark: Mark, budget: Budget) -> bool:
        is_gone = await sweep(self, driver, mark, budget)
        if is_gone:
            await driver.fetch("DELETE FROM psych_run WHERE run_id = ?", (mark.id,))
        return is_gone

    patch.setattr(Trees, "remove", marked)
    patch.setattr(EntrySweep, "__call__", swept)


def mark_left(patch: pytest.MonkeyPatch) -> None:
    finish = Sweeper.slice

    async def finished(self: Sweeper, driver: Driver, marks: Sequence[Mark]) -> Outcome[tuple[Mark, ...]]:
        outcome = await finish(self, driver, marks)
        for mark in set(marks) - set(outcome.answer):
            row = (mark.id, mark.kind.value, mark.tenant)
            await driver.fetch("INSERT INTO psych_mark (id, kind, tenant, at) VALUES (?, ?, ?, 0)", row)
        return outcome

    patch.setattr(Sweeper, "slice", finished)


def driver_error_escapes(patch: pytest.MonkeyPatch) -> None:
    write = FileAccess.write

    async def escaping(self: FileAccess, operation: str, work: Any, size: int = 0) -> Any:
        try:
            return await write(self, operation, work, size)
        except StoreError as error:
            if isinstance(error.__cause__, sqlite3.Error):
                raise error.__cause__ from None
            raise

    patch.setattr(FileAccess, "write", escaping)


FAULTS = (
    Fault("Run visible between slices", run_visible_between_slices, CUT, "Head|IndexError"),
    Fault("mark left", mark_left, CUT, r"purge.* == \(\)"),
    Fault("driver error escapes", driver_error_escapes, DRIVER, "OperationalError: disk I/O error"),
)


@pytest.fixture
def open_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> OpenStore:
    """Opens a store of its own each time, whose driver may fail."""
    monkeypatch.setattr(sqlite3, "connect", partial(sqlite3.connect, factory=FailingConnection))
    numbers = count()

    def opened(clock: Clock) -> SQLiteStore:
        return SQLiteStore(tmp_path / f"{next(numbers)}.db", synchronous="normal", clock=clock)

    return opened


@pytest.mark.parametrize("fault", [pytest.param(each, id=each.name) for each in FAULTS])
def test_a_fault_of_several_transactions_fails_the_test_that_states_its_rule(
    fault: Fault, open_store: OpenStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    fault.befall(monkeypatch)
    tried = (failure(open_store, fault.test, test_sqlite_store.TestSQLiteStore) for _ in range(TRIES))
    said = next(filter(None, tried), None)
    assert said is not None
    assert re.search(fault.words, said), said
    assert [test for test in KEPT if failure(open_store, test) is not None] == []
