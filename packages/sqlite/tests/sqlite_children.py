"""Programs that the tests run as processes of their own."""

import asyncio
import os
import resource
import signal
import time
from collections.abc import Sequence
from multiprocessing.connection import Connection
from typing import Any, TypeAlias
from unittest.mock import patch

from psych_runtime_contract.store.scenes import OTHER_RUN, RUN, admit, append, appending, claimed_ids
from psych_runtime_core.errors import StoreError, StoreMisconfigured, StoreUnavailable
from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.runs import RunHeader
from psych_runtime_core.ports.store import Store
from psych_runtime_sql.driver import Row
from psych_runtime_sqlite import SQLiteStore
from psych_runtime_sqlite.connection import SQLiteDriver

# No file is opened, but all statements are compiled: once, for all children of the server that imports this.
SQLiteStore("psych.db")

NOBODY = 65_534

PAIR_EVERY = 3
"""Of the writes of `write_forever`, one in so many goes to two Runs."""


Parent: TypeAlias = "Connection[Any, Any]"
_parent: list["Parent"] = []


def run(parent: "Parent", program: str, *arguments: str) -> None:
    """One of the programs below, in a process of its own."""
    _parent.append(parent)
    result = globals()[program](*arguments)
    if result is not None:
        asyncio.run(result)


def say(*words: object) -> None:
    """A line to the parent."""
    _parent[0].send(" ".join(map(str, words)))


def hear() -> str:
    """A line from the parent."""
    line: str = _parent[0].recv()
    return line


async def write_forever(path: str, name: str) -> None:
    """Append until killed, telling the parent before and after each commit."""
    store = SQLiteStore(path)
    headers = {run_id: await store.get_run(run_id) for run_id in (RUN, OTHER_RUN)}
    for number in range(10_000):
        body = f"{name}.{number}".encode()
        run_ids = [RUN, OTHER_RUN] if number % PAIR_EVERY == 0 else [RUN]
        say("at", number)
        heads = await store.commit([appending(headers[run_id], body) for run_id in run_ids])
        say("done", number)
        for run_id, head in zip(run_ids, heads, strict=True):
            headers[run_id] = headers[run_id].model_copy(update={"head": head})


async def append_many(path: str, run_id: str, count: str) -> None:
    """Append so many entries to one Run, when the parent says so."""
    async with SQLiteStore(path) as store:
        header = await store.get_run(RunId(run_id))
        say("ready")
        hear()
        for number in range(int(count)):
            header = await grow(store, header, b"%d" % number)
    say("done")


async def grow(store: Store, header: RunHeader, body: bytes) -> RunHeader:
    """Append one entry behind a header that is known."""
    (head,) = await store.commit([appending(header, body)])
    return header.model_copy(update={"head": head})


async def come_and_go(path: str, name: str, seconds: str) -> None:
    """Write, open and close for so long."""
    end = time.monotonic() + float(seconds)
    written = 0
    while time.monotonic() < end:
        async with SQLiteStore(path) as store:
            run_id = f"run_{name}_{written}"
            await admit(store, run_id)
            for _ in range(5):
                await append(store, run_id, b"x" * 20_000)
            await claimed_ids(store, f"worker_{name}", limit=3)
            written += 1
    say(written)


async def start(path: str, name: str) -> None:
    """Migrate when the parent says so, and begin to work at once."""
    async with SQLiteStore(path) as store:
        say("ready")
        hear()
        report = await store.migrate()
        await admit(store, f"run_{name}")
    say(len(report.applied))


async def migrate_until_killed(path: str, statements: str) -> None:
    """Migrate, and be killed before the statement after so many."""
    left = iter(range(int(statements)))
    fetch = SQLiteDriver.fetch

    async def counted(self: SQLiteDriver, sql: str, params: Sequence[object] = ()) -> Sequence[Row]:
        if next(left, None) is None:
            os.kill(os.getpid(), signal.SIGKILL)
        return await fetch(self, sql, params)

    with patch.object(SQLiteDriver, "fetch", counted):
        await SQLiteStore(path, synchronous="normal").migrate()
    say("done")


async def read_as_nobody(path: str) -> None:
    """Read without the right to write anything."""
    async with SQLiteStore(path, read_only=True) as reader, SQLiteStore(path) as writer:
        user = os.geteuid()
        if user == 0:
            os.seteuid(NOBODY)
        say("read", len(await reader.read(RUN)))
        try:
            await admit(writer, OTHER_RUN)
        except StoreMisconfigured:
            say("refused")
        os.seteuid(user)


async def hold_open(path: str, opened: str) -> None:
    """Have the file open, while perhaps other code opens and closes it, until the parent says so."""
    async with SQLiteStore(path) as store:
        await append(store)
        if opened == "too":
            os.close(os.open(path, os.O_RDONLY))
        say("ready")
        hear()
        # As after a crash: nothing is closed.
        os._exit(0)


async def read_alone(path: str) -> None:
    """Read a log and tell how long it is."""
    async with SQLiteStore(path, read_only=True) as store:
        try:
            say("read", len(await store.read(RUN)))
        except StoreError:
            say("refused")


async def fill_up(path: str) -> None:
    """Meet a limit of the file's size, then get on without it."""
    async with SQLiteStore(path) as store:
        await append(store)
        size = os.stat(f"{path}-wal").st_size
        limit = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + 100_000, limit[1]))
        for number in range(100):
            try:
                await append(store, RUN, bytes(10_000))
            except StoreUnavailable as error:
                say("refused", type(error).__name__, error.outcome, number)
                break
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    say("done")


def fork(path: str) -> None:
    """Use a store, fork, and use it in both; the parent closes it while the child writes on."""
    store = SQLiteStore(path)
    asyncio.run(store_bodies(store, RUN, b"before"))
    to_child, to_parent = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        os.close(to_child[1])
        asyncio.run(store_bodies(store, RUN, b"child 1"))
        os.write(to_parent[1], b"x")
        os.read(to_child[0], 1)
        asyncio.run(store_bodies(store, RUN, b"child 2", b"child 3"))
        # As after a crash: nothing is closed.
        os._exit(0)
    asyncio.run(store_bodies(store, OTHER_RUN, b"parent"))
    os.read(to_parent[0], 1)
    asyncio.run(store.close())
    os.write(to_child[1], b"x")
    say("child", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


async def store_bodies(store: Store, run_id: RunId, *bodies: bytes) -> None:
    """Append them one by one."""
    for body in bodies:
        await append(store, run_id, body)
