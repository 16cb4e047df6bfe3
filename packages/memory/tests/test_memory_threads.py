"""The in-memory store across loops and threads, and when a caller goes away."""

import asyncio
import gc
import sys
from collections.abc import Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any, TypeVar
from weakref import ref

import pytest
from anyio import CancelScope

from psych_runtime_contract.store.scenes import RUN, WORKER, admit, append, claimed_ids
from psych_runtime_core.errors import SeqConflict
from psych_runtime_core.ids import RunId, WorkerId
from psych_runtime_core.ports.blob import BlobKey
from psych_runtime_core.ports.kv import KvKey
from psych_runtime_core.ports.watch import Hint
from psych_runtime_memory import InMemoryStore

T = TypeVar("T")


@pytest.fixture(autouse=True)
def threads_take_turns_often() -> Iterator[None]:
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


def in_threads(*coroutines: Coroutine[Any, Any, T]) -> list[T]:
    """Each in a thread and a loop of its own."""
    with ThreadPoolExecutor(len(coroutines)) as pool:
        return [future.result() for future in [pool.submit(run, each) for each in coroutines]]


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(coroutine)


async def grow(store: InMemoryStore, writer: int, times: int) -> None:
    for number in range(times):
        while not await grown(store, b"%d of %d" % (number, writer)):
            pass


async def grown(store: InMemoryStore, body: bytes) -> bool:
    try:
        await append(store, RUN, body)
    except SeqConflict:
        return False
    return True


async def claim_all(store: InMemoryStore, worker: str) -> list[str]:
    taken: list[str] = []
    while ids := await claimed_ids(store, worker, limit=3):
        taken += ids
    return taken


def test_writers_in_many_threads_lose_nothing() -> None:
    store = InMemoryStore()
    asyncio.run(admit(store))
    in_threads(*[grow(store, writer, 50) for writer in range(4)])
    log = asyncio.run(store.read(RUN))
    assert [entry.seq for entry in log] == list(range(1, 202))
    assert len({entry.body for entry in log}) == 201


def test_no_two_threads_claim_one_run() -> None:
    store = InMemoryStore()
    for number in range(100):
        asyncio.run(admit(store, f"run_{number}", tenant=f"tenant_{number % 3}"))
    taken = [run_id for ids in in_threads(*[claim_all(store, f"w{n}") for n in range(4)]) for run_id in ids]
    assert len(taken) == len(set(taken)) == 100


def test_of_many_threads_one_gets_a_lock() -> None:
    store, lock = InMemoryStore(), KvKey("acme", "locks", "lock")
    taken = in_threads(*[store.kv.put(lock, b"%d" % number, expect=0) for number in range(8)])
    (winner,) = filter(None, taken)
    assert asyncio.run(store.kv.get(lock)) == winner


def test_values_and_blobs_of_many_threads_are_all_there() -> None:
    store, threads = InMemoryStore(), 4

    async def write(number: int) -> None:
        for each in range(50):
            name = f"{number}.{each}"
            await store.kv.put(KvKey("acme", "notes", name), b"")
            await store.blobs.put(BlobKey("acme", RUN, name), b"", content_type="text/plain")

    in_threads(*[write(number) for number in range(threads)])
    notes = asyncio.run(store.kv.list("acme", "notes", limit=1_000)).items
    blobs = asyncio.run(store.blobs.list("acme")).items
    names = sorted(f"{number}.{each}" for number in range(threads) for each in range(50))
    assert [note.key.name for note in notes] == names
    assert [key.call_id for key, _ in blobs] == names


def test_a_watch_hears_of_changes_in_other_threads() -> None:
    store = InMemoryStore()
    asyncio.run(admit(store, ready_at=None))
    watching = Event()

    async def watch() -> Hint:
        async with store.changes([RUN], ready=True) as changes:
            watching.set()
            return await changes.wait(1_000)

    async def write() -> Hint:
        await asyncio.to_thread(watching.wait)
        await append(store)
        return Hint()

    heard, _ = in_threads(watch(), write())
    assert heard == Hint(runs=frozenset({RUN}))


def test_a_watch_left_in_a_closed_loop_stops_no_writer() -> None:
    store = InMemoryStore()
    asyncio.run(admit(store))
    loop = asyncio.new_event_loop()
    entered = store.changes([RUN])
    loop.run_until_complete(entered.__aenter__())
    loop.close()
    assert asyncio.run(append(store)).head.seq == 2


async def test_a_watch_that_was_left_is_forgotten() -> None:
    store = InMemoryStore()
    async with store.changes([RUN], ready=True) as watch:
        left = ref(watch)
    del watch
    gc.collect()
    assert left() is None


async def test_a_call_that_is_cancelled_before_it_began_does_nothing() -> None:
    store = InMemoryStore()
    header = await admit(store)
    with CancelScope() as scope:
        scope.cancel()
        await store.claim(WORKER)
    assert await store.get_run(RUN) == header


async def test_every_method_gives_the_loop_a_turn() -> None:
    store = InMemoryStore()
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    counting = asyncio.ensure_future(count())
    await store.migrate()
    await admit(store)
    before = turns
    await store.get_run(RUN)
    await store.read(RUN)
    await store.claim(WorkerId("any"))
    assert turns - before >= 3
    counting.cancel()


async def test_what_a_store_holds_is_not_what_its_caller_holds() -> None:
    store = InMemoryStore()
    await admit(store)
    page = await store.read(RUN)
    await append(store)
    assert len(page) == 1
    assert len(await store.read(RunId(RUN))) == 2
