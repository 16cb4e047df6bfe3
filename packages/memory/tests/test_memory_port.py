"""What the in-memory store says of itself, and what hangs on it."""

import asyncio
from typing import Any

import pytest
from anyio.lowlevel import checkpoint

from psych_runtime.testing.clock import FakeClock
from psych_runtime_contract.store.following import chunk
from psych_runtime_contract.store.scenes import RUN
from psych_runtime_core.errors import StoreError
from psych_runtime_core.ports.blob import BlobKey
from psych_runtime_core.ports.kv import KvKey
from psych_runtime_core.ports.watch import Hint
from psych_runtime_memory import InMemoryBlobStore, InMemoryStore

BLOB = BlobKey("acme", RUN, "call.1")


@pytest.fixture
def store() -> InMemoryStore:
    return InMemoryStore(clock=FakeClock())


def note(name: str, *, space: str = "notes") -> KvKey:
    return KvKey("acme", space, name)


async def test_a_check_says_that_everything_ends_with_the_process() -> None:
    check = await InMemoryStore().check()
    assert (check.backend, check.schema, check.push, check.clock_offset_seconds) == (
        "memory",
        "none",
        True,
        0,
    )
    assert "ends with this process" in check.durability
    assert any("store on disk" in warning for warning in check.warnings)
    assert 0 <= check.latency_seconds < 60


async def test_values_and_blobs_of_a_closed_store_are_refused(store: InMemoryStore) -> None:
    await store.kv.put(note("a"), b"")
    await store.blobs.put(BLOB, b"all of it", content_type="text/plain")
    await store.close()
    for call in (
        store.kv.get(note("a")),
        store.kv.list("acme", "notes"),
        store.check(),
        store.blobs.put(BLOB, b"", content_type="text/plain"),
        store.blobs.get(BLOB),
        store.blobs.head(BLOB),
        anext(store.blobs.open(BLOB)),
        store.blobs.list(None),
        store.blobs.delete(BLOB),
        store.blobs.delete_run("acme", RUN),
    ):
        with pytest.raises(StoreError, match="closed"):
            await call


@pytest.mark.parametrize("watched", [{"ready": True}, {"run_ids": [RUN]}, {}], ids=["ready", "a Run", "none"])
async def test_who_waits_on_a_store_that_closes_is_woken_and_waits_no_more(
    store: InMemoryStore, watched: dict[str, Any]
) -> None:
    async with store.changes(**watched) as watch:
        waiting = asyncio.ensure_future(watch.wait(1e9))
        for _ in range(5):
            await checkpoint()
        assert not waiting.done()
        await store.close()
        assert await waiting == Hint()
        with pytest.raises(StoreError, match="closed"):
            await watch.wait(1e9)


async def test_who_follows_text_of_a_store_that_closes_is_at_its_end(store: InMemoryStore) -> None:
    async with store.live.follow(RUN) as chunks, store.live.follow(RUN) as others:
        await store.live.publish([chunk(0, "heard")])
        assert (await anext(chunks)).body == b"heard"
        waiting = asyncio.ensure_future(anext(chunks, None))
        for _ in range(5):
            await checkpoint()
        assert not waiting.done()
        await store.close()
        await store.live.publish([chunk(5, " of no more")])
        assert await waiting is None
        assert [each async for each in others] == []
    async with store.live.follow(RUN) as chunks:
        assert [each async for each in chunks] == []


async def test_a_store_has_blobs_of_its_own_time(store: InMemoryStore) -> None:
    assert isinstance(store.blobs, InMemoryBlobStore)
    assert isinstance(store.clock, FakeClock)
    await store.clock.advance(5)
    known = await store.blobs.put(BLOB, b"", content_type="text/plain")
    assert known.created_at == store.clock.now()


async def test_each_put_removes_two_values_that_have_expired(store: InMemoryStore) -> None:
    assert isinstance(store.clock, FakeClock)
    for number in range(5):
        await store.kv.put(note(f"lock_{number}"), b"", ttl_seconds=1 + number)
    await store.kv.put(note("kept", space="other"), b"")
    await store.clock.advance(5)
    left: list[int] = []
    for _ in range(4):
        await store.kv.put(note("again"), b"")
        left.append(len(store.kv))
    assert left == [5, 3, 2, 2]


async def test_a_value_that_was_stored_for_longer_is_not_removed_with_its_old_time(
    store: InMemoryStore,
) -> None:
    assert isinstance(store.clock, FakeClock)
    await store.kv.put(note("token"), b"old", ttl_seconds=1)
    await store.kv.put(note("token"), b"new")
    await store.clock.advance(2)
    await store.kv.put(note("other"), b"")
    kept = await store.kv.get(note("token"))
    assert kept is not None
    assert kept.value == b"new"


async def test_clearing_takes_what_has_expired_too_and_counts_the_rest(store: InMemoryStore) -> None:
    assert isinstance(store.clock, FakeClock)
    await store.kv.put(note("memory"), b"of a person", ttl_seconds=1)
    await store.kv.put(note("token"), b"of a person")
    await store.clock.advance(2)
    assert await store.kv.clear("acme", "notes") == 1
    assert len(store.kv) == 0
