"""What the live channel of the in-memory store keeps, for how long, and for whom."""

import asyncio
import gc
from collections.abc import AsyncIterator
from threading import Event

import pytest
from anyio.lowlevel import checkpoint

from psych_runtime.testing.clock import FakeClock
from psych_runtime_contract.store.scenes import OTHER_RUN, RUN, admit, settle
from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.live import LIVE_SECONDS, MAX_CHUNK_BYTES, MAX_LIVE_BYTES, LiveChunk
from psych_runtime_core.ports.queries import RunQuery
from psych_runtime_memory import InMemoryStore
from psych_runtime_memory.bell import Bell
from psych_runtime_memory.texts import Text


@pytest.fixture
def store() -> InMemoryStore:
    return InMemoryStore(clock=FakeClock())


def chunk(
    offset: int, text: str, call_seq: int = 1, *, epoch: int = 1, reasoning: bool = False, run: RunId = RUN
) -> LiveChunk:
    return LiveChunk(run, "", call_seq, epoch, reasoning, offset, len(text), text.encode())


async def shown(store: InMemoryStore, run_id: RunId = RUN) -> list[str]:
    """What a follower that comes now gets at once."""
    async with store.live.follow(run_id) as chunks:
        return [each.body.decode() for each in await at_once(chunks)]


async def at_once(chunks: AsyncIterator[LiveChunk]) -> list[LiveChunk]:
    """What comes without waiting. Afterwards `chunks` is at its end."""
    got: list[LiveChunk] = []

    async def read() -> None:
        async for each in chunks:
            got.append(each)

    reading = asyncio.ensure_future(read())
    for _ in range(5):
        await checkpoint()
    reading.cancel()
    await asyncio.gather(reading, return_exceptions=True)
    return got


def alive(kind: type) -> int:
    """How many of a kind somebody holds."""
    gc.collect()
    return sum(type(each) is kind for each in gc.get_objects())


async def test_what_repeats_or_follows_a_gap_is_not_kept(store: InMemoryStore) -> None:
    await store.live.publish([chunk(0, "ab"), chunk(0, "ab"), chunk(1, "b"), chunk(3, "d"), chunk(2, "c")])
    assert await shown(store) == ["ab", "c"]


async def test_what_overlaps_is_shown_whole(store: InMemoryStore) -> None:
    await store.live.publish([chunk(0, "ab"), chunk(1, "bc")])
    assert await shown(store) == ["ab", "bc"]


async def test_a_text_without_its_beginning_is_not_shown(store: InMemoryStore) -> None:
    await store.live.publish([chunk(5, "late")])
    assert await shown(store) == []


async def test_beyond_8_mib_the_rest_of_a_text_is_dropped_though_room_comes_again(
    store: InMemoryStore,
) -> None:
    full = "x" * MAX_CHUNK_BYTES
    for number in range(MAX_LIVE_BYTES // MAX_CHUNK_BYTES):
        await store.live.publish([chunk(number * MAX_CHUNK_BYTES, full)])
    await store.live.publish([chunk(0, "no room", 2), chunk(0, "another Run's", run=OTHER_RUN)])
    await store.live.clear(RUN, 1)
    await store.live.publish([chunk(7, " behind a gap", 2), chunk(0, "room", 3)])
    assert await shown(store) == ["room"]
    assert await shown(store, OTHER_RUN) == ["another Run's"]


async def test_an_hour_after_its_last_chunk_a_text_goes(store: InMemoryStore) -> None:
    clock = store.clock
    assert isinstance(clock, FakeClock)
    await store.live.publish([chunk(0, "old"), chunk(0, "long ", 2)])
    await clock.advance(LIVE_SECONDS - 1)
    await store.live.publish([chunk(5, "call", 2)])
    assert await shown(store) == ["old", "long ", "call"]
    await clock.advance(1)
    assert await shown(store) == ["long ", "call"]
    await clock.advance(LIVE_SECONDS)
    assert await shown(store) == []
    await store.live.publish([chunk(9, "!", 2)])
    assert await shown(store) == []


async def test_a_follower_that_has_heard_a_newer_epoch_hears_no_older_one_after_a_clearing(
    store: InMemoryStore,
) -> None:
    async with store.live.follow(RUN) as chunks:
        await store.live.publish([chunk(0, "successor", 9, epoch=2)])
        assert (await anext(chunks)).body == b"successor"
        await store.live.clear(RUN)
        await store.live.publish([chunk(0, "late", 5, epoch=1)])
        assert await at_once(chunks) == []
    assert await shown(store) == ["late"], "of a Run that is not stored nothing else is known"


async def test_a_follower_drops_what_is_old_though_it_was_there_first(store: InMemoryStore) -> None:
    await store.live.publish([chunk(0, "a"), chunk(1, "b"), chunk(2, "c")])
    async with store.live.follow(RUN) as chunks:
        assert (await anext(chunks)).body == b"a"
        await store.live.publish([chunk(0, "new", 5, epoch=2)])
        assert [each.body for each in await at_once(chunks)] == [b"new"]


async def test_a_text_that_begins_again_is_shown_again(store: InMemoryStore) -> None:
    async with store.live.follow(RUN) as chunks:
        await store.live.publish([chunk(0, "ab")])
        assert (await anext(chunks)).body == b"ab"
        await store.live.clear(RUN, 1)
        await store.live.publish([chunk(0, "ac")])
        assert (await anext(chunks)).body == b"ac"


async def test_what_a_run_held_goes_when_it_settles(store: InMemoryStore) -> None:
    await admit(store)
    await store.live.publish([chunk(0, "answer")])
    await settle(store)
    assert await shown(store) == []


async def test_a_follower_that_left_is_forgotten(store: InMemoryStore) -> None:
    async with store.live.follow(RUN):
        assert alive(Bell) == 1
    assert alive(Bell) == 0
    await store.live.publish([chunk(0, "to nobody")])


async def test_a_follower_keeps_no_text_that_was_cleared(store: InMemoryStore) -> None:
    async with store.live.follow(RUN) as chunks:
        for call_seq in range(1, 4):
            await store.live.publish([chunk(0, "text", call_seq)])
            assert (await anext(chunks)).call_seq == call_seq
            await store.live.clear(RUN, call_seq)
        assert await at_once(chunks) == []
        assert alive(Text) == 0


async def test_what_comes_after_a_run_has_settled_is_not_kept(store: InMemoryStore) -> None:
    clock = store.clock
    assert isinstance(clock, FakeClock)
    await admit(store)
    await settle(store)
    await store.live.publish([chunk(0, "late"), chunk(0, "another Run's", run=OTHER_RUN)])
    assert await shown(store) == []
    await clock.advance(LIVE_SECONDS)
    assert await shown(store, OTHER_RUN) == []


async def test_what_came_before_a_run_was_admitted_goes_when_it_is_purged(store: InMemoryStore) -> None:
    await store.live.publish([chunk(0, "early")])
    await admit(store)
    assert await shown(store) == ["early"]
    await settle(store)
    await store.purge(RunQuery(run_ids=frozenset({RUN})))
    assert await shown(store) == []


def test_a_follower_in_another_thread_is_woken(store: InMemoryStore) -> None:
    following = Event()

    async def follow() -> bytes:
        async with store.live.follow(RUN) as chunks:
            asyncio.get_running_loop().call_later(0, following.set)
            return (await anext(chunks)).body

    async def both() -> bytes:
        reading = asyncio.ensure_future(asyncio.to_thread(asyncio.run, follow()))
        await asyncio.to_thread(following.wait)
        await store.live.publish([chunk(0, "hello")])
        return await reading

    assert asyncio.run(both()) == b"hello"


async def test_a_closed_store_still_raises_nothing_here(store: InMemoryStore) -> None:
    await store.close()
    await store.live.publish([chunk(0, "text")])
    await store.live.clear(RUN)
    assert await shown(store) == []
