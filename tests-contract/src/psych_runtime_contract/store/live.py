"""Live text: all of it from its beginning for whoever joins whenever, and nothing of it afterwards."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from psych_runtime_contract.store.base import StoreBase
from psych_runtime_contract.store.following import A_WHILE, Follower, Place, chunk, cut, texts_of
from psych_runtime_contract.store.scenes import OTHER_RUN, RUN, admit, claim, end, settle
from psych_runtime_contract.store.time import StoreTime
from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.live import LIVE_SECONDS, MAX_CHUNK_BYTES, MAX_LIVE_BYTES, LiveChannel
from psych_runtime_core.ports.queries import RunQuery
from psych_runtime_core.ports.store import Store

TEXT = "Zażółć gęślą jaźń, \N{GRINNING FACE} and 漢字."
MARK = chunk(0, ".", 10_000)
"""It is published last: what comes no later than it is all there is."""
ASKED = 20
"""After so many answers of a store, a follower that had asked before them has its own."""
OF_RUN = RunQuery(run_ids=frozenset({RUN}))

Ends = Callable[[Store], Awaitable[object]]


async def by_settling(store: Store) -> None:
    await admit(store)
    await end(store, (await claim(store)).lease)


async def by_purging(store: Store) -> None:
    await admit(store)
    await settle(store)
    await store.live.publish(cut(TEXT, 5))
    assert len(await store.purge(OF_RUN)) == 1


async def by_erasing(store: Store) -> None:
    await admit(store)
    await settle(store)
    await store.live.publish(cut(TEXT, 5))
    assert await store.erase(OF_RUN) == 1


async def by_clearing(store: Store) -> None:
    await store.live.clear(RUN)


class StoreLive(StoreBase):
    """`store.live`."""

    async def shown(self, live: LiveChannel, time: StoreTime, run_id: str = RUN) -> dict[Place, str]:
        """All that a follower gets who comes now. Afterwards nothing of the Run is kept."""
        async with Follower(live, time, run_id) as follower:
            await live.publish([mark := replace(MARK, run_id=RunId(run_id))])
            texts = await follower.hears_all(mark)
        await live.clear(RunId(run_id))
        return texts

    # --- from the beginning, and on ----------------------------------------------------------------------

    async def test_chunks_come_as_they_were_published(
        self, live: LiveChannel, second: Store, time: StoreTime
    ) -> None:
        chunks = [
            replace(chunk(0, "ab", 2**40, epoch=7, lane="main/3"), body=bytes(range(256))),
            replace(chunk(2, "cd", 2**40, epoch=7, lane="main/3"), body=b""),
        ]
        await live.publish(chunks)
        async with Follower(second.live, time) as follower:
            await follower.until(lambda: len(follower.got) >= 2, "two chunks")
            assert follower.got == chunks

    @pytest.mark.parametrize("joined", [0, 1, 3, 8])
    async def test_who_joins_in_mid_call_gets_all_from_the_beginning(
        self, live: LiveChannel, second: Store, time: StoreTime, joined: int
    ) -> None:
        chunks = cut(TEXT, 3, 1, 7)
        for each in chunks[:joined]:
            await live.publish([each])
        async with Follower(live, time) as near, Follower(second.live, time) as far:
            await live.publish(chunks[joined : joined + 2])
            await second.live.publish(chunks[joined + 2 :])
            for follower in (near, far):
                await follower.reads(TEXT)

    @pytest.mark.parametrize("seed", range(4))
    async def test_who_comes_and_goes_has_no_gap(
        self, live: LiveChannel, second: Store, time: StoreTime, seed: int
    ) -> None:
        chance, text = Random(seed), TEXT * 4
        chunks = cut(text, 1, 4, 2, 9)
        while chunks:
            some = chance.randrange(1, 6)
            async with Follower(chance.choice([live, second.live]), time) as follower:
                for each in chunks[:some]:
                    await chance.choice([live, second.live]).publish([each])
                if chance.random() < 0.5:
                    last = chunks[:some][-1]
                    await follower.reads(text[: last.offset + last.length])
                assert all(text.startswith(shown) for shown in follower.texts.values())
            chunks = chunks[some:]
        async with Follower(second.live, time) as follower:
            await follower.reads(text)

    async def test_what_was_published_twice_is_one_text(self, live: LiveChannel, time: StoreTime) -> None:
        chunks = cut(TEXT, 4)
        await live.publish([*chunks[:3], *chunks[1:5]])
        await live.publish([*chunks[4:], chunks[0]])
        assert await self.shown(live, time) == {("main", 1, False): TEXT}

    async def test_nothing_is_shown_behind_a_gap(self, live: LiveChannel, time: StoreTime) -> None:
        await live.publish([chunk(0, "ab"), chunk(3, "d"), chunk(5, "late", 2)])
        assert await self.shown(live, time) == {("main", 1, False): "ab"}

    # --- apart -------------------------------------------------------------------------------------------

    async def test_calls_and_reasoning_have_texts_of_their_own(
        self, live: LiveChannel, second: Store, time: StoreTime
    ) -> None:
        await live.publish([chunk(0, "a", 1), chunk(0, "b", 1, reasoning=True), chunk(0, "c", 4, lane="x")])
        await second.live.publish([chunk(1, "B", 1, reasoning=True), chunk(1, "C", 4, lane="x")])
        await live.publish([chunk(1, "A", 1)])
        assert await self.shown(live, time) == {
            ("main", 1, False): "aA",
            ("main", 1, True): "bB",
            ("x", 4, False): "cC",
        }

    async def test_one_publish_serves_all_runs(self, live: LiveChannel, time: StoreTime) -> None:
        other = replace(chunk(0, "theirs"), run_id=OTHER_RUN)
        async with Follower(live, time) as follower:
            await live.publish([chunk(0, "mine"), other])
            await follower.reads("mine")
            assert all(each.run_id == RUN for each in follower.got)
        assert await self.shown(live, time, OTHER_RUN) == {("main", 1, False): "theirs"}

    # --- epochs ------------------------------------------------------------------------------------------

    async def test_a_worker_that_lost_its_lease_is_not_heard(
        self, live: LiveChannel, second: Store, time: StoreTime
    ) -> None:
        await live.publish([chunk(0, "old", 1, epoch=1)])
        await second.live.publish([chunk(0, "new", 5, epoch=2)])
        await live.publish([chunk(3, " late", 1, epoch=1), chunk(0, "late", 3, epoch=1)])
        await live.publish([chunk(3, "er", 5, epoch=2)])
        async with Follower(live, time) as follower:
            await follower.reads("newer", 5)
            await time.passes(A_WHILE)
            assert follower.texts == {("main", 5, False): "newer"}

    async def test_a_follower_hears_no_old_epoch_after_a_new_one(
        self, live: LiveChannel, second: Store, time: StoreTime
    ) -> None:
        async with Follower(live, time) as follower:
            await live.publish([chunk(0, "old", 1, epoch=1)])
            await follower.reads("old", 1)
            await second.live.publish([chunk(0, "new", 5, epoch=2)])
            await follower.reads("new", 5)
            await live.publish([chunk(3, "er", 1, epoch=1)])
            await second.live.publish([chunk(3, "er", 5, epoch=2)])
            await follower.reads("newer", 5)
            assert follower.texts["main", 1, False] == "old"

    # --- afterwards --------------------------------------------------------------------------------------

    @pytest.mark.parametrize("ended", [by_clearing, by_settling, by_purging, by_erasing])
    async def test_nothing_is_left_of_what_ended(
        self, store: Store, live: LiveChannel, time: StoreTime, ended: Ends
    ) -> None:
        await live.publish([*cut(TEXT, 5), chunk(0, "why", reasoning=True), chunk(0, "more", 4, lane="x")])
        await live.publish([replace(chunk(0, "theirs"), run_id=OTHER_RUN)])
        await ended(store)
        assert await self.left(store, time) == {}
        assert await self.shown(live, time, OTHER_RUN) == {("main", 1, False): "theirs"}

    async def left(self, store: Store, time: StoreTime) -> dict[Place, str]:
        """What is there of `RUN`, of which no chunk may be taken any more: not even a mark."""
        async with Follower(store.live, time) as follower:
            for _ in range(ASKED):
                await store.find_runs(OF_RUN)
            await time.passes(A_WHILE)
            return follower.texts

    async def test_a_call_that_ended_is_cleared_alone(
        self, live: LiveChannel, second: Store, time: StoreTime
    ) -> None:
        await live.publish([chunk(0, "ended", 1), chunk(0, "why", 1, reasoning=True), chunk(0, "open", 4)])
        await second.live.clear(RUN, 1)
        assert await self.shown(live, time) == {("main", 4, False): "open"}

    async def test_what_nobody_cleared_goes_after_an_hour(self, live: LiveChannel, time: StoreTime) -> None:
        time.must_be_moved()
        await live.publish([chunk(0, "old", 1), chunk(0, "going ", 4)])
        await time.passes(LIVE_SECONDS - 10)
        await live.publish([chunk(6, "on", 4)])
        await time.passes(10)
        assert await self.shown(live, time) == {("main", 4, False): "going on"}

    async def test_of_a_run_no_more_than_8_mib_are_kept(self, live: LiveChannel, time: StoreTime) -> None:
        piece = "x" * MAX_CHUNK_BYTES
        for number in range(MAX_LIVE_BYTES // MAX_CHUNK_BYTES + 3):
            await live.publish([chunk(number * MAX_CHUNK_BYTES, piece)])
        async with Follower(live, time) as follower:
            await follower.until(lambda: bool(follower.got), "what is kept")
            await time.passes(A_WHILE)
            kept = [each for each in follower.got if each.call_seq == 1]
        assert 0 < sum(len(each.body) for each in kept) <= MAX_LIVE_BYTES
        assert set("".join(texts_of(kept).values())) == {"x"}

    # --- what is refused, and what is not ----------------------------------------------------------------

    @pytest.mark.parametrize(
        "given",
        [
            pytest.param({"body": bytes(MAX_CHUNK_BYTES + 1)}, id="too large"),
            pytest.param({"offset": -1}, id="before the beginning"),
            pytest.param({"length": -1}, id="shorter than nothing"),
        ],
    )
    async def test_a_chunk_out_of_bounds_is_refused(
        self, store: Store, live: LiveChannel, time: StoreTime, given: dict[str, Any]
    ) -> None:
        with pytest.raises(ValueError):
            await live.publish([chunk(0, "good"), replace(chunk(0, "bad", 4), **given)])
        assert await self.left(store, time) == {}

    async def test_a_store_that_is_no_more_raises_nothing_here(
        self, store: Store, live: LiveChannel, time: StoreTime
    ) -> None:
        async with Follower(live, time) as follower:
            await live.publish([chunk(0, "heard")])
            await follower.reads("heard")
            await store.close()
            await live.publish([chunk(5, " of")])
            await live.clear(RUN, 1)
            await live.clear(RUN)
            await follower.ends()
            assert follower.texts == {("main", 1, False): "heard"}
        async with Follower(live, time) as late:
            await late.ends()
            assert late.got == []
