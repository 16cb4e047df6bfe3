"""Reading live text changes nothing, not even how far the reader believes to be."""

import asyncio
import sqlite3
from collections.abc import Generator

import pytest
from sqlalchemy.dialects.sqlite import dialect as sqlite_dialect

from psych_runtime.testing.clock import START
from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.live import LiveChunk
from psych_runtime_sql.migrator import Migrator
from psych_runtime_sql.reader import Reader
from psych_runtime_sql.texts import CHUNKS_AT_ONCE, Texts
from psych_runtime_sqlite.connection import SQLiteDriver

DIALECT = sqlite_dialect(paramstyle="qmark")
RUN = RunId("run_a")


@pytest.fixture
def driver() -> Generator[SQLiteDriver]:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    driver = SQLiteDriver(connection)
    asyncio.run(Migrator(DIALECT).migrate(driver, "post", START, plan=False))
    yield driver
    connection.close()


def letters(count: int) -> list[LiveChunk]:
    return [LiveChunk(RUN, "", 1, 1, False, number, 1, b"%d" % number) for number in range(count)]


async def test_what_was_read_is_read_again_by_who_did_not_get_it(driver: SQLiteDriver) -> None:
    texts, reader = Texts(DIALECT), Reader(RUN)
    await texts.publish(driver, letters(3), START)
    ahead, chunks = await texts.read_on(driver, reader, START)
    assert (ahead.ends, chunks) == ({(1, False): 3}, letters(3))
    assert await texts.read_on(driver, reader, START) == (ahead, chunks)
    assert await texts.read_on(driver, ahead, START) == (ahead, [])
    assert reader == Reader(RUN)


async def test_a_long_text_is_read_a_piece_at_a_time(driver: SQLiteDriver) -> None:
    texts, reader = Texts(DIALECT), Reader(RUN)
    sent = letters(2 * CHUNKS_AT_ONCE)
    await texts.publish(driver, sent, START)
    got: list[LiveChunk] = []
    pieces: list[int] = []
    while chunks := (answer := await texts.read_on(driver, reader, START))[1]:
        reader = answer[0]
        got += chunks
        pieces.append(len(chunks))
    assert got == sent
    assert pieces == [CHUNKS_AT_ONCE] * 2
