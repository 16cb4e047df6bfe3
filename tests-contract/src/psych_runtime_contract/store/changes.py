"""Hints: whatever changed after a watch was entered is told, once."""

from datetime import timedelta

from anyio import create_task_group

from psych_runtime_contract.store.base import StoreBase
from psych_runtime_contract.store.scenes import OTHER_RUN, RUN, WAKE, admit, append, claim, rest
from psych_runtime_contract.store.time import StoreTime
from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.runs import NOW
from psych_runtime_core.ports.store import Store
from psych_runtime_core.ports.watch import Hint, Watch

QUIET = Hint()
A_WHILE, LONG = 1.0, 300.0
"""Seconds in which nothing is heard where nothing is told; in which whatever is told is heard, however slow
the threads and disks behind a store."""


async def hint(watch: Watch, time: StoreTime, timeout_seconds: float = LONG) -> Hint:
    """What `watch` says within a time that passes by itself."""
    return await time.passes_until(lambda: watch.wait(timeout_seconds))


def runs(*run_ids: str) -> frozenset[RunId]:
    return frozenset(map(RunId, run_ids))


class StoreChanges(StoreBase):
    """What a watch reports."""

    async def test_a_change_between_reading_and_waiting_is_told(
        self, store: Store, second: Store, time: StoreTime
    ) -> None:
        await admit(store)
        for writer in (store, second):
            async with store.changes([RUN]) as watch:
                await store.read(RUN)
                await append(writer)
                assert RUN in (await hint(watch, time)).runs

    async def test_a_change_wakes_who_waits(self, store: Store, second: Store, time: StoreTime) -> None:
        await admit(store)
        for writer in (store, second):
            async with store.changes([RUN]) as watch, create_task_group() as group:
                group.start_soon(append, writer, RUN)
                assert RUN in (await hint(watch, time)).runs

    async def test_many_changes_are_one_hint(self, store: Store, time: StoreTime) -> None:
        await admit(store)
        await admit(store, OTHER_RUN)
        async with store.changes([RUN, OTHER_RUN]) as watch:
            for _ in range(100):
                await append(store)
            await append(store, OTHER_RUN)
            assert (await hint(watch, time)).runs == runs(RUN, OTHER_RUN)
            assert await hint(watch, time, A_WHILE) == QUIET

    async def test_nothing_is_told_of_runs_not_followed(self, store: Store, time: StoreTime) -> None:
        await admit(store)
        await admit(store, OTHER_RUN)
        async with store.changes([RUN]) as watch:
            await append(store, OTHER_RUN)
            assert OTHER_RUN not in (await hint(watch, time, A_WHILE)).runs

    async def test_a_watch_follows_and_unfollows_as_it_goes(self, store: Store, time: StoreTime) -> None:
        await admit(store)
        await admit(store, OTHER_RUN)
        async with store.changes([RUN]) as watch:
            watch.follow(OTHER_RUN)
            await append(store, OTHER_RUN)
            assert OTHER_RUN in (await hint(watch, time)).runs
            watch.unfollow(OTHER_RUN, RunId("run_never_followed"))
            await append(store, OTHER_RUN)
            assert await hint(watch, time, A_WHILE) == QUIET
            await append(store)
            assert RUN in (await hint(watch, time)).runs

    async def test_what_is_unfollowed_is_not_told_any_more(self, store: Store, time: StoreTime) -> None:
        await admit(store)
        async with store.changes([RUN]) as watch:
            await append(store)
            watch.unfollow(RUN)
            assert await hint(watch, time, A_WHILE) == QUIET

    async def test_a_run_can_be_followed_before_its_admission(self, store: Store, time: StoreTime) -> None:
        async with store.changes([RUN]) as watch:
            await admit(store)
            assert RUN in (await hint(watch, time)).runs

    async def test_a_writer_is_not_woken_by_what_it_said_it_would_write(
        self, store: Store, second: Store, time: StoreTime
    ) -> None:
        header = await admit(store)
        async with store.changes([RUN]) as watch:
            watch.saw(RUN, header.head.seq + 1)
            await append(store)
            assert await hint(watch, time, A_WHILE) == QUIET
            await append(second)
            assert RUN in (await hint(watch, time)).runs

    async def test_ready_work_is_told_to_those_who_ask(self, store: Store, time: StoreTime) -> None:
        async with store.changes(ready=True) as watch:
            await admit(store)
            assert (await hint(watch, time)).ready

    async def test_all_that_makes_a_run_ready_is_told(
        self, store: Store, second: Store, time: StoreTime
    ) -> None:
        async with store.changes(ready=True) as watch:
            await admit(store, ready_at=None)
            for writer in (store, second):
                await append(writer, change=WAKE)
                assert (await hint(watch, time)).ready
                await writer.release((await claim(writer)).lease)
                assert (await hint(watch, time)).ready
                await append(writer, change=rest(NOW), lease=(await claim(writer)).lease)
                assert (await hint(watch, time)).ready
                await append(writer, change=rest(None), lease=(await claim(writer)).lease)

    async def test_ready_work_is_not_told_to_others(self, store: Store, time: StoreTime) -> None:
        async with store.changes([OTHER_RUN]) as watch:
            await admit(store)
            assert not (await hint(watch, time, A_WHILE)).ready

    async def test_a_watch_that_hears_nothing_answers_at_its_timeout(
        self, store: Store, time: StoreTime
    ) -> None:
        await admit(store)
        async with store.changes([RUN]) as watch:
            await hint(watch, time, A_WHILE)
            before = time.now()
            assert await hint(watch, time, A_WHILE) == QUIET
            assert time.now() - before >= timedelta(seconds=A_WHILE)

    async def test_each_of_many_watches_hears(self, store: Store, time: StoreTime) -> None:
        await admit(store)
        async with store.changes([RUN]) as one, store.changes([RUN]) as two:
            await append(store)
            assert RUN in (await hint(one, time)).runs
            assert RUN in (await hint(two, time)).runs
