"""Faults of hints, small values and live text."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Collection
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from typing import Literal

from psych_runtime_contract.store.machine import ValuesMachine
from psych_runtime_contract.store.mutants.base import Mutant, MutantStore
from psych_runtime_core.clock import Clock
from psych_runtime_core.errors import StoreError
from psych_runtime_core.ids import RunId, VersionHash
from psych_runtime_core.ports.kv import KvItem, KvKey
from psych_runtime_core.ports.queries import Page
from psych_runtime_core.ports.reports import MigrationReport
from psych_runtime_core.ports.watch import Hint, PollingWatch, Watch
from psych_runtime_core.version import Version
from psych_runtime_memory import InMemoryStore
from psych_runtime_memory.kv import InMemoryKeyValue


class LateWatch:
    """A watch that begins to listen when it is waited on."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self.follow, self.unfollow, self.saw = watch.follow, watch.unfollow, watch.saw

    async def wait(self, timeout_seconds: float) -> Hint:
        await self._watch.wait(0)
        return await self._watch.wait(timeout_seconds)


class ChangeLostBetweenReadAndWait(MutantStore):
    def changes(
        self, run_ids: Collection[RunId] = (), *, ready: bool = False
    ) -> AbstractAsyncContextManager[Watch]:
        return self._late(super().changes(run_ids, ready=ready))

    @asynccontextmanager
    async def _late(self, opened: AbstractAsyncContextManager[Watch]) -> AsyncGenerator[Watch]:
        async with opened as watch:
            yield LateWatch(watch)


class VersionOfAClosedStore(MutantStore):
    """Versions never change, so they are answered from beside the connection."""

    async def get_version(self, version_hash: VersionHash) -> Version:
        if version_hash in self._versions:
            return Version.decode(self._versions[version_hash])
        return await super().get_version(version_hash)


class PlanOfAClosedStore(MutantStore):
    """A plan touches nothing, so it does not ask."""

    async def migrate(self, phase: Literal["pre", "post"] = "pre", *, plan: bool = False) -> MigrationReport:
        return MigrationReport(0, 0) if plan else await super().migrate(phase)


class WatchOfAClosedStore(MutantStore):
    """Who watches is told that nothing happens any more."""

    def changes(
        self, run_ids: Collection[RunId] = (), *, ready: bool = False
    ) -> AbstractAsyncContextManager[Watch]:
        try:
            return super().changes(run_ids, ready=ready)
        except StoreError:
            return PollingWatch(InMemoryStore(clock=self.clock))


class RevisionRestarts(InMemoryKeyValue):
    """A key that is made anew counts from 1."""

    async def put(
        self, key: KvKey, value: bytes, *, expect: int | None = None, ttl_seconds: float | None = None
    ) -> KvItem | None:
        before = await self.get(key)
        item = await super().put(key, value, expect=expect, ttl_seconds=ttl_seconds)
        if item is None:
            return None
        restarted = replace(item, revision=before.revision + 1 if before else 1)
        self._items[key.tenant, key.space][key.name] = restarted
        return restarted


class ExpiredValueListed(InMemoryKeyValue):
    async def list(
        self, tenant: str, space: str, *, prefix: str = "", cursor: str | None = None, limit: int = 100
    ) -> Page[KvItem]:
        async with self._gate.alone():
            items = list(self._walk((tenant, space), prefix, cursor or ""))
        more = len(items) > limit
        return Page(tuple(items[:limit]), items[limit - 1].key.name if more else None)


class LateHolderFreesALock(InMemoryKeyValue):
    async def delete(self, key: KvKey, *, expect: int | None = None) -> bool:
        return await super().delete(key)


def storing(values: type[InMemoryKeyValue]) -> Callable[[Clock], InMemoryStore]:
    """A store with these small values."""

    class Storing(MutantStore):
        def __init__(self, clock: Clock) -> None:
            super().__init__(clock)
            self.kv = values(self._gate, clock)

    return Storing


LOCK = "test_a_lock_is_taken_over_at_its_end_and_its_late_holder_changes_nothing"
CLOSED = "test_a_closed_store_says_so_in_every_call"
PORTS = (
    Mutant("a closed store answers get_version", VersionOfAClosedStore, CLOSED, "DID NOT RAISE", None),
    Mutant("a closed store plans a migration", PlanOfAClosedStore, CLOSED, "DID NOT RAISE", None),
    Mutant("a closed store is watched", WatchOfAClosedStore, CLOSED, "DID NOT RAISE", None),
    Mutant(
        "revision restarts",
        storing(RevisionRestarts),
        "test_no_revision_comes_twice_for_a_key",
        r"len\(\{1\}\)|== 4",
        ValuesMachine,
        also=(LOCK,),
    ),
    Mutant(
        "expired value listed",
        storing(ExpiredValueListed),
        "test_a_value_ends_at_its_instant_in_every_method",
        r"== \(\)",
        ValuesMachine,
    ),
    Mutant(
        "a late holder frees a lock",
        storing(LateHolderFreesALock),
        LOCK,
        "not True",
        ValuesMachine,
    ),
    Mutant(
        "change lost between read and wait",
        ChangeLostBetweenReadAndWait,
        "test_a_change_between_reading_and_waiting_is_told",
        "run_a",
    ),
)
