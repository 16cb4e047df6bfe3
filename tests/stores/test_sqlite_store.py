"""The SQLite store does what every store does."""

import sqlite3
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from functools import partial
from pathlib import Path

import pytest

from packages.sqlite.tests.sqlite_callers import Caller, joined, of_python
from psych_runtime.testing.clock import FakeClock
from psych_runtime_contract.store import Caps, StoreContract
from psych_runtime_core.ports.store import Store
from psych_runtime_sqlite import SQLiteStore
from tests.stores.failing_connection import FailingConnection, Fault


class TestSQLiteStore(StoreContract):
    caps = Caps(transactions=True)

    @pytest.fixture
    async def store(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[Store]:
        monkeypatch.setattr(sqlite3, "connect", partial(sqlite3.connect, factory=FailingConnection))
        self.path = tmp_path / "psych.db"
        async with SQLiteStore(self.path, clock=FakeClock()) as store:
            await store.migrate()
            yield store

    def another(self, store: Store) -> SQLiteStore:
        return SQLiteStore(self.path, clock=store.clock)

    def read_only(self, store: Store) -> SQLiteStore:
        return SQLiteStore(self.path, clock=store.clock, read_only=True)

    def joined(self, store: Store) -> AbstractAsyncContextManager[Caller]:
        return joined(store, self.path, of_python)

    def failing(self, store: Store, at: int, *, done: bool) -> AbstractContextManager[None]:
        return FailingConnection.failing(Fault(at, done=done))

    def dump(self, store: Store) -> str:
        connection = sqlite3.connect(self.path)
        dump = "\n".join(connection.iterdump())
        connection.close()
        return dump
