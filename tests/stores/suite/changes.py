"""Hints: whatever changed after a watch was entered is told, once."""

from anyio import create_task_group
from anyio.lowlevel import checkpoint

from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.store import NOW, Store
from psych_runtime_core.ports.watch import Hint, Watch
from tests.stores.suite.base import StoreBase
from tests.stores.suite.clock import ManualClock
from tests.stores.suite.scenes import OTHER_RUN, RUN, WAKE, admit, append, claim, rest

QUIET = Hint()
A_WHILE = 10
"""Seconds in which nothing is heard, where nothing is told."""


async def hint(watch: Watch, clock: ManualClock, timeout_seconds: float = 3_600) -> Hint:
    """What `watch` says within a time that the clock passes by itself.

    By default so long that what is told is heard, however slow the threads and disks behind a store.
    """
    answers: list[Hint] = []

    async def wait() -> None:
        answers.append(await watch.wait(timeout_seconds))

    async with create_task_group() as group:
        group.start_soon(wait)
        while not answers:
            await checkpoint()
            clock.advance(0.005)
    return answers[0]


def runs(*run_ids: str) -> frozenset[RunId]:
    return frozenset(map(RunId, run_ids))


class StoreChanges(StoreBase):
    """What a watch reports."""

    async def test_a_change_between_reading_and_waiting_is_told(
        self, store: Store, another: Store, clock: ManualClock
    ) -> None:
        await admit(store)
        for writer in (store, another):
            async with store.changes([RUN]) as watch:
                await store.read(RUN)
                await append(writer)
                assert RUN in (await hint(watch, clock)).runs

    async def test_a_change_wakes_who_waits(self, store: Store, another: Store, clock: ManualClock) -> None:
        await admit(store)
        for writer in (store, another):
            async with store.changes([RUN]) as watch, create_task_group() as group:
                group.start_soon(append, writer, RUN)
                assert RUN in (await hint(watch, clock)).runs

    async def test_many_changes_are_one_hint(self, store: Store, clock: ManualClock) -> None:
        await admit(store)
        await admit(store, OTHER_RUN)
        async with store.changes([RUN, OTHER_RUN]) as watch:
            for _ in range(100):
                await append(store)
            await append(store, OTHER_RUN)
            assert (await hint(watch, clock)).runs == runs(RUN, OTHER_RUN)
            assert await hint(watch, clock, A_WHILE) == QUIET

    async def test_nothing_is_told_of_runs_not_followed(self, store: Store, clock: ManualClock) -> None:
        await admit(store)
        await admit(store, OTHER_RUN)
        async with store.changes([RUN]) as watch:
            await append(store, OTHER_RUN)
            assert OTHER_RUN not in (await hint(watch, clock, A_WHILE)).runs

    async def test_a_watch_follows_and_unfollows_as_it_goes(self, store: Store, clock: ManualClock) -> None:
        await admit(store)
        await admit(store, OTHER_RUN)
        async with store.changes([RUN]) as watch:
            watch.follow(OTHER_RUN)
            await append(store, OTHER_RUN)
            assert OTHER_RUN in (await hint(watch, clock)).runs
            watch.unfollow(OTHER_RUN, RunId("run_never_followed"))
            await append(store, OTHER_RUN)
            assert await hint(watch, clock, A_WHILE) == QUIET
            await append(store)
            assert RUN in (await hint(watch, clock)).runs

    async def test_what_is_unfollowed_is_not_told_any_more(self, store: Store, clock: ManualClock) -> None:
        await admit(store)
        async with store.changes([RUN]) as watch:
            await append(store)
            watch.unfollow(RUN)
            assert await hint(watch, clock, A_WHILE) == QUIET

    async def test_a_run_can_be_followed_before_its_admission(self, store: Store, clock: ManualClock) -> None:
        async with store.changes([RUN]) as watch:
            await admit(store)
            assert RUN in (await hint(watch, clock)).runs

    async def test_a_writer_is_not_woken_by_what_it_said_it_would_write(
        self, store: Store, another: Store, clock: ManualClock
    ) -> None:
        header = await admit(store)
        async with store.changes([RUN]) as watch:
            watch.saw(RUN, header.head.seq + 1)
            await append(store)
            assert await hint(watch, clock, A_WHILE) == QUIET
            await append(another)
            assert RUN in (await hint(watch, clock)).runs

    async def test_ready_work_is_told_to_those_who_ask(self, store: Store, clock: ManualClock) -> None:
        async with store.changes(ready=True) as watch:
            await admit(store)
            assert (await hint(watch, clock)).ready

    async def test_all_that_makes_a_run_ready_is_told(
        self, store: Store, another: Store, clock: ManualClock
    ) -> None:
        async with store.changes(ready=True) as watch:
            await admit(store, ready_at=None)
            for writer in (store, another):
                await append(writer, change=WAKE)
                assert (await hint(watch, clock)).ready
                await writer.release((await claim(writer)).lease)
                assert (await hint(watch, clock)).ready
                await append(writer, change=rest(NOW), lease=(await claim(writer)).lease)
                assert (await hint(watch, clock)).ready
                await append(writer, change=rest(None), lease=(await claim(writer)).lease)

    async def test_ready_work_is_not_told_to_others(self, store: Store, clock: ManualClock) -> None:
        async with store.changes([OTHER_RUN]) as watch:
            await admit(store)
            assert not (await hint(watch, clock, A_WHILE)).ready

    async def test_a_watch_that_hears_nothing_answers_at_its_timeout(
        self, store: Store, clock: ManualClock
    ) -> None:
        await admit(store)
        async with store.changes([RUN]) as watch:
            await hint(watch, clock, A_WHILE)
            before = clock.monotonic()
            assert await hint(watch, clock, 3) == QUIET
            assert clock.monotonic() - before >= 3

    async def test_each_of_many_watches_hears(self, store: Store, clock: ManualClock) -> None:
        await admit(store)
        async with store.changes([RUN]) as one, store.changes([RUN]) as two:
            await append(store)
            assert RUN in (await hint(one, clock)).runs
            assert RUN in (await hint(two, clock)).runs
