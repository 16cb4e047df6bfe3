"""An import as it would go, with nothing written."""

from __future__ import annotations

from collections.abc import Sequence

from psych_runtime.store_proxy import StoreProxy
from psych_runtime_core.errors import RunNotFound
from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.queries import RunQuery
from psych_runtime_core.ports.runs import RunHeader
from psych_runtime_core.ports.store import Store
from psych_runtime_core.records import Entry
from psych_runtime_core.version import Version
from psych_runtime_memory import InMemoryStore


class Noticing(StoreProxy):
    """Notices which Runs are admitted to the store."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.admitted: set[RunId] = set()

    async def admit(self, header: RunHeader, entries: Sequence[Entry]) -> RunId:
        run_id = await self._admit(header, entries)
        self.admitted.add(run_id)
        return run_id

    async def _admit(self, header: RunHeader, entries: Sequence[Entry]) -> RunId:
        return await self._store.admit(header, entries)


class Rehearsal(Noticing):
    """Answers from the store, and keeps in memory what would be written to it."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self._kept = InMemoryStore(codec=store.codec)

    async def put_version(self, version: Version) -> Version:
        return await self._kept.put_version(version)

    async def _admit(self, header: RunHeader, entries: Sequence[Entry]) -> RunId:
        return await self._kept.admit(header, entries)

    async def get_run(self, run_id: RunId) -> RunHeader:
        try:
            return await self._store.get_run(run_id)
        except RunNotFound:
            return await self._kept.get_run(run_id)

    async def read(self, run_id: RunId, after: int = 0, limit: int = 1000) -> tuple[Entry, ...]:
        try:
            return await self._store.read(run_id, after, limit)
        except RunNotFound:
            return await self._kept.read(run_id, after, limit)

    async def erase(self, query: RunQuery) -> int:
        return await self._kept.erase(query)
