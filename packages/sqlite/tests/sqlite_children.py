"""Programs that the tests run as processes of their own."""

import asyncio
import os
import resource
import sys
import time

from psych_runtime_core.errors import StoreUnavailable
from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.store import RunHeader, Store
from psych_runtime_sqlite import SQLiteStore
from tests.stores.suite.scenes import OTHER_RUN, RUN, admit, append, appending, claimed_ids

PAIR_EVERY = 3
"""Of the writes of `write_forever`, one in so many goes to two Runs."""


def say(*words: object) -> None:
    """A line to the parent, now."""
    print(*words, flush=True)


def hear() -> str:
    """A line from the parent."""
    return sys.stdin.readline().strip()


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


if __name__ == "__main__":
    program, *arguments = sys.argv[1:]
    result = globals()[program](*arguments)
    if result is not None:
        asyncio.run(result)
