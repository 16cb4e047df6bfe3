"""A store that holds one log and nothing else, as damaged as it is given."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeVar

from psych_runtime.store_proxy import StoreProxy
from psych_runtime.testing.implied_header import implied_header
from psych_runtime_core.errors import CorruptLog, RunNotFound, StoreError, VersionNotFound
from psych_runtime_core.ids import RunId, VersionHash
from psych_runtime_core.jsonvalue import decode_json
from psych_runtime_core.ports.queries import Page, RunQuery, matches
from psych_runtime_core.ports.runs import RunHeader
from psych_runtime_core.ports.watch import PollingWatch, Watch
from psych_runtime_core.records import Codec, Entry, PlainCodec, decode
from psych_runtime_core.scope import Scope
from psych_runtime_core.state.fold import apply, empty
from psych_runtime_core.state.run import NO_SCOPE
from psych_runtime_core.version import Version
from psych_runtime_memory import InMemoryStore

T = TypeVar("T")


class HollowStore(StoreProxy):
    """A read-only `Store` of exactly `entries`, in their order, gaps and all.

    Its one header says what the log implies as far as it folds, and ends where the last entry does.
    """

    def __init__(
        self, entries: Iterable[Entry], *, versions: Iterable[Version] = (), codec: Codec | None = None
    ) -> None:
        super().__init__(InMemoryStore(codec=codec))
        self._entries = tuple(entries)
        self._versions = {version.hash: version for version in versions}
        self._header = _implied(self._entries, codec or PlainCodec())

    async def _through(self, name: str, call: Callable[[], Awaitable[T]]) -> T:
        if name not in {"stats", "check"}:
            raise StoreError(f"a hollow store is read only: it does no {name}")
        return await call()

    async def get_version(self, version_hash: VersionHash) -> Version:
        if version_hash not in self._versions:
            raise VersionNotFound(version_hash)
        return self._versions[version_hash]

    async def get_run(self, run_id: RunId) -> RunHeader:
        if self._header is None or run_id != self._header.run_id:
            raise RunNotFound(run_id)
        return self._header

    async def read(self, run_id: RunId, after: int = 0, limit: int = 1000) -> tuple[Entry, ...]:
        await self.get_run(run_id)
        return tuple(entry for entry in self._entries if entry.seq > after)[:limit]

    async def find_runs(self, query: RunQuery, cursor: str | None = None) -> Page[RunHeader]:
        del cursor
        return Page((self._header,) if self._header and matches(query, self._header) else ())

    def changes(
        self, run_ids: Collection[RunId] = (), *, ready: bool = False
    ) -> AbstractAsyncContextManager[Watch]:
        return PollingWatch(self, run_ids, ready=ready)


def _implied(entries: tuple[Entry, ...], codec: Codec) -> RunHeader | None:
    """The header of the Run that the first entry is of; None of no entries."""
    if not entries:
        return None
    told: Any = decode_json(entries[0].body.partition(b"\n")[0])
    run_id, scope = RunId(told["run_id"]), Scope(tenant=told["tenant"])
    state, last = empty(run_id), None
    try:
        for entry in entries:
            record = decode(entry, run_id=run_id, scope=scope, codec=codec)
            apply(state, record)
            last = record
    except CorruptLog:
        pass
    known = scope if state.scope is NO_SCOPE else state.scope
    return implied_header(entries, last, state, scope=known, name="hollow")
