"""Faults: what befalls a call is told in words of the port, it was done once or not, and the next works."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterable
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import ClassVar, NoReturn

import pytest

from psych_runtime_contract.plugin import leave_out
from psych_runtime_contract.store.base import StoreBase
from psych_runtime_contract.store.calls import CALLS, READS, WRITES, Scene, had_by, set_scene
from psych_runtime_contract.store.following import chunk
from psych_runtime_contract.store.interruptions import cut_short
from psych_runtime_contract.store.scenes import OTHER_RUN, RUN, admit, append
from psych_runtime_core.errors import StoreError, StoreUnavailable
from psych_runtime_core.ports.live import LiveChannel
from psych_runtime_core.ports.store import Store

MOST_TRIES = 200
"""No call waits or asks its driver so often; a call that does would never be known to end."""
CUTS = 12
"""More than the connections that a store may have."""
CHILD_SECONDS = 20


def each(names: Iterable[str]) -> pytest.MarkDecorator:
    """Once a call."""
    kv = pytest.mark.needs("caps.kv")
    return pytest.mark.parametrize(
        "name", [pytest.param(name, marks=[kv] * name.startswith("kv.")) for name in names]
    )


EACH_CALL = each(CALLS)


class StoreFaults(StoreBase):
    """What goes wrong around a store."""

    secrets: ClassVar[tuple[str, ...]] = ()
    """What is in the store's address and must not be told, such as its password."""

    def failing(self, store: Store, at: int, *, done: bool) -> AbstractContextManager[None]:
        """Let the driver of `store` raise from its statement `at` on, counted from 0: before it asks its
        server, or, when `done`, after the server did what it was asked. Override it where that can be done.
        """
        del store, at, done
        leave_out("failing(store, at, done)")

    def read_only(self, store: Store) -> AbstractAsyncContextManager[Store]:
        """A handle on the data of `store` that may not write. Override it where there can be one."""
        del store
        leave_out("read_only(store)")

    # --- the driver --------------------------------------------------------------------------------------

    # What a check meets is what it was asked: that stands in its report.
    @each(name for name in CALLS if name != "check")
    @pytest.mark.parametrize("done", [False, True], ids=["before it asks", "after it was answered"])
    async def test_what_the_driver_raises_is_told_in_words_of_the_port(
        self, store: Store, name: str, done: bool
    ) -> None:
        for at in range(MOST_TRIES):
            scene = await set_scene(store, f"tenant_{at}")
            error = await self.befallen(store, scene, name, at, done=done)
            if error is None:
                assert at > 0, "a call asks its driver at least once"
                return
            assert error.__cause__ is not None, "the driver's own exception is the cause"
            assert not any(secret in str(error) for secret in self.secrets)
            if name in WRITES:
                call, was_done = WRITES[name]
                if isinstance(error, StoreUnavailable) and error.outcome == "none":
                    assert not await was_done(store, scene), "nothing was written"
                await call(store, scene)
                assert await was_done(store, scene), "it may simply be repeated"
        pytest.fail(f"{name} still fails when its driver does at statement {MOST_TRIES}")

    @pytest.mark.parametrize("done", [False, True], ids=["before it asks", "after it was answered"])
    async def test_a_check_whose_driver_fails_says_so(self, store: Store, done: bool) -> None:
        with self.failing(store, 0, done=done):
            try:
                told = " ".join((await store.check()).warnings)
            except StoreError as error:
                told = str(error)
        assert told, "it raises, or warns"
        assert not any(secret in told for secret in self.secrets)

    async def test_live_text_is_lost_with_the_driver_and_raises_nothing(
        self, store: Store, live: LiveChannel
    ) -> None:
        for done in (False, True):
            with self.failing(store, 0, done=done):
                await live.publish([chunk(0, "lost")])
                await live.clear(RUN, 1)
                await live.clear(RUN)
            await live.publish([chunk(0, "heard", 4)])

    async def befallen(
        self, store: Store, scene: Scene, name: str, at: int, *, done: bool
    ) -> StoreError | None:
        """What a call says whose driver fails; None where it asks less often than that."""
        with self.failing(store, at, done=done):
            try:
                await CALLS[name](store, scene)
            except StoreError as error:
                return error
        return None

    # --- cancelled ---------------------------------------------------------------------------------------

    @EACH_CALL
    async def test_after_calls_that_were_cancelled_at_any_wait_the_next_one_works(
        self, store: Store, name: str
    ) -> None:
        call = CALLS[name]
        for wait in range(MOST_TRIES):
            scene = await set_scene(store, f"tenant_{wait}")
            cut = [await cut_short(call(store, scene), wait) for _ in range(CUTS)]
            await call(store, scene)
            if name in WRITES:
                assert await WRITES[name][1](store, scene)
            if not any(cut):
                return
        pytest.fail(f"{name} still waits after {MOST_TRIES} waits")

    # --- closed, elsewhere, not allowed ------------------------------------------------------------------

    @EACH_CALL
    async def test_a_closed_store_says_so_in_every_call(self, store: Store, name: str) -> None:
        scene = await set_scene(store)
        await store.close()
        with pytest.raises(StoreError, match="closed"):
            await CALLS[name](store, scene)

    async def test_a_second_loop_is_served_or_told_what_to_do(self, store: Store) -> None:
        header = await admit(store)

        async def ask() -> object:
            try:
                return await store.get_run(RUN)
            except StoreError as error:
                return error

        answer = await asyncio.to_thread(asyncio.run, ask())
        if answer != header:
            assert isinstance(answer, StoreError)
            assert "loop" in str(answer)
        assert await store.get_run(RUN) == header
        await append(store)

    @pytest.mark.needs("caps.handles")
    @pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
    async def test_after_a_fork_both_processes_go_on(self, store: Store) -> None:
        if not hasattr(os, "fork"):
            leave_out("os.fork")
        await admit(store)
        child = os.fork()
        if child == 0:
            _be_a_child(store)
        _, status = await asyncio.to_thread(os.waitpid, child, 0)
        assert os.waitstatus_to_exitcode(status) == 0, "the child uses the store, too"
        assert (await store.get_run(OTHER_RUN)).head.seq == 1
        assert (await append(store)).head.seq == 3

    async def test_a_store_that_may_only_read_reads_and_writes_nothing(self, store: Store) -> None:
        scene = await set_scene(store)
        async with self.read_only(store) as handle:
            for read in had_by(handle, READS).values():
                await read(handle, scene)
            for name, (write, was_done) in had_by(handle, WRITES).items():
                with pytest.raises(StoreError, match="read-only"):
                    await write(handle, scene)
                assert not await was_done(store, scene), name

    async def test_a_store_that_may_only_read_writes_no_live_text_and_raises_nothing(
        self, store: Store
    ) -> None:
        async with self.read_only(store) as handle:
            await handle.live.publish([])
            await handle.live.clear(RUN)


def _be_a_child(store: Store) -> NoReturn:
    """Use the store of the parent, and end: as after a crash, nothing is closed, and no test goes on here."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(CHILD_SECONDS)
    try:
        asyncio.run(_go_on(store))
    except BaseException:
        os._exit(1)
    os._exit(0)


async def _go_on(store: Store) -> None:
    assert (await store.get_run(RUN)).head.seq == 1
    await append(store)
    await admit(store, OTHER_RUN)
