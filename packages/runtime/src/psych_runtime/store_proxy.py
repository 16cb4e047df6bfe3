"""A store in front of another, for those that watch, narrow or disturb what passes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import AbstractAsyncContextManager
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

from psych_runtime_core.clock import Clock
from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.blob import BlobStore, blobs_of
from psych_runtime_core.ports.kv import KeyValue
from psych_runtime_core.ports.live import LiveChannel
from psych_runtime_core.ports.runs import Lease
from psych_runtime_core.ports.store import Store
from psych_runtime_core.ports.watch import Watch
from psych_runtime_core.ports.writes import UNCHANGED, Append, HeaderChange
from psych_runtime_core.records import Codec, Entry, Head

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


class StoreProxy:
    """Hands every call on, through `_through`; `append` goes as the `commit` that it is."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def _through(self, name: str, call: Callable[[], Awaitable[T]]) -> T:
        """One call of the method `name`, which happens when `call` is awaited."""
        del name
        return await call()

    @staticmethod
    def _handed_on(method: Callable[Concatenate[Store, P], R]) -> Callable[Concatenate[StoreProxy, P], R]:
        """The method as one that the store behind answers, with the signature that the port gives it."""
        name = method.__name__

        @wraps(method)
        async def handed_on(self: StoreProxy, *args: P.args, **kwargs: P.kwargs) -> Any:
            answers = getattr(self._store, name)
            return await self._through(name, lambda: answers(*args, **kwargs))

        return cast("Callable[Concatenate[StoreProxy, P], R]", handed_on)

    @property
    def codec(self) -> Codec:
        return self._store.codec

    @property
    def clock(self) -> Clock:
        return self._store.clock

    @property
    def kv(self) -> KeyValue | None:
        return self._store.kv

    @property
    def live(self) -> LiveChannel:
        return self._store.live

    @property
    def blobs(self) -> BlobStore | None:
        """The blobs beside its Runs, where the store keeps any."""
        return blobs_of(self._store)

    async def append(
        self,
        run_id: RunId,
        after: Head,
        entries: Sequence[Entry],
        change: HeaderChange = UNCHANGED,
        lease: Lease | None = None,
    ) -> Head:
        (head,) = await self.commit([Append(run_id, after, tuple(entries), change, lease)])
        return head

    put_version = _handed_on(Store.put_version)
    get_version = _handed_on(Store.get_version)
    commit = _handed_on(Store.commit)
    admit = _handed_on(Store.admit)
    read = _handed_on(Store.read)
    get_run = _handed_on(Store.get_run)
    find_runs = _handed_on(Store.find_runs)
    claim = _handed_on(Store.claim)
    renew = _handed_on(Store.renew)
    release = _handed_on(Store.release)
    purge = _handed_on(Store.purge)
    erase = _handed_on(Store.erase)
    stats = _handed_on(Store.stats)
    check = _handed_on(Store.check)
    migrate = _handed_on(Store.migrate)

    def changes(
        self, run_ids: Collection[RunId] = (), *, ready: bool = False
    ) -> AbstractAsyncContextManager[Watch]:
        return self._store.changes(run_ids, ready=ready)

    async def close(self) -> None:
        await self._store.close()
