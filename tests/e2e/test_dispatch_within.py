"""A Run that is dispatched in the transaction that stores what it is about."""

import sqlite3
from collections.abc import AsyncGenerator
from contextlib import closing
from pathlib import Path

import pytest

from psych_runtime import IdempotencyConflict, dispatch, publish
from psych_runtime.store.sqlite import SQLiteStore
from psych_runtime.testing import FakeModel
from tests.e2e.stage import ACME, agent, at_work, ended


@pytest.fixture
async def store(tmp_path: Path) -> AsyncGenerator[SQLiteStore]:
    async with SQLiteStore(tmp_path / "psych.db") as store:
        await store.migrate()
        yield store


async def test_a_run_begins_when_the_callers_transaction_is_committed(
    store: SQLiteStore, tmp_path: Path
) -> None:
    version = await publish(store, agent())
    async with at_work(store, FakeModel().turn("Done.").repeat(), poll_interval=60):
        with closing(sqlite3.connect(tmp_path / "psych.db")) as connection:
            connection.execute("CREATE TABLE orders (name)")
            for name in ("rolled back", "committed"):
                connection.execute("INSERT INTO orders VALUES (?)", (name,))
                begun = await dispatch(
                    store.within(connection), version, ACME, input="Ship it.", idempotency_key="order-17"
                )
                assert begun.created
                if name == "committed":
                    connection.commit()
                else:
                    connection.rollback()
            assert (await ended(store, begun.run_id)).terminal_state == "completed"
            again = await dispatch(
                store.within(connection), version, ACME, input="Ship it.", idempotency_key="order-17"
            )
            assert (again.run_id, again.created) == (begun.run_id, False)
            with pytest.raises(IdempotencyConflict) as caught:
                await dispatch(
                    store.within(connection), version, ACME, input="No.", idempotency_key="order-17"
                )
            assert caught.value.field == "input"
            connection.rollback()
            assert connection.execute("SELECT name FROM orders").fetchall() == [("committed",)]
