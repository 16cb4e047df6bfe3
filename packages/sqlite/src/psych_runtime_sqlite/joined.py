"""A store inside a transaction of the caller's: a Run begins if and only if that is committed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractAsyncContextManager
from functools import wraps
from typing import Any, Concatenate, NoReturn, ParamSpec, TypeVar, cast

from psych_runtime_core.clock import Clock
from psych_runtime_core.errors import StoreError, VersionNotFound
from psych_runtime_core.ids import RunId, VersionHash
from psych_runtime_core.ports import checks
from psych_runtime_core.ports.blob import BlobStore
from psych_runtime_core.ports.kv import KeyValue
from psych_runtime_core.ports.live import LiveChannel, NoLive
from psych_runtime_core.ports.runs import RunHeader
from psych_runtime_core.ports.store import Store
from psych_runtime_core.ports.watch import Watch
from psych_runtime_core.ports.writes import Admit
from psych_runtime_core.records import Codec, Entry
from psych_runtime_core.version import Version
from psych_runtime_sql.admissions import Unfinished
from psych_runtime_sql.driver import Driver
from psych_runtime_sql.operations import Operations
from psych_runtime_sqlite.callers import Caller

P = ParamSpec("P")
R = TypeVar("R")


def _refuse(name: str) -> NoReturn:
    raise StoreError(
        f"{name}: within(connection) admits Runs and reads what dispatch needs for it; ask the store itself"
    )


def _refused(method: Callable[Concatenate[Store, P], R]) -> Callable[Concatenate[JoinedStore, P], R]:
    """The method as one that is refused, with the signature that the port gives it."""

    @wraps(method)
    async def refused(self: JoinedStore, *args: P.args, **kwargs: P.kwargs) -> Any:
        del self, args, kwargs
        _refuse(method.__name__)

    return cast("Callable[Concatenate[JoinedStore, P], R]", refused)


class JoinedStore:
    """A `Store` on the caller's connection for admission, and the reading that dispatch needs for it.

    All else is `StoreError`. A Version is not stored here: the store's own connection would wait for the
    caller's transaction.
    """

    def __init__(self, store: Store, caller: Caller, operations: Operations) -> None:
        self._store, self._caller, self._operations = store, caller, operations
        self.codec: Codec = store.codec
        self.clock: Clock = store.clock
        self.kv: KeyValue | None = None
        self.live: LiveChannel = NoLive()
        self.blobs: BlobStore | None = None

    async def admit(self, header: RunHeader, entries: Sequence[Entry]) -> RunId:
        write = Admit(header, tuple(entries))
        checks.check_commit([write])
        if not checks.fits_one_commit(write):
            raise StoreError(
                "a past this long is not admitted in a transaction; admit it on the store itself"
            )

        async def work(driver: Driver) -> RunId:
            outcome = await self._operations.runs.commit(driver, [write], self.clock.now())
            return outcome.answer[0].run_id

        try:
            return await self._caller.write("admit", work)
        except Unfinished as left:
            what = f"what is left of an earlier Run {left.mark.id} is in the way"
            raise StoreError(f"admit: {what}; await store.purge(…) takes it away") from None

    async def get_run(self, run_id: RunId) -> RunHeader:
        return await self._caller.read(
            "get_run", lambda driver: self._operations.runs.get_run(driver, run_id)
        )

    async def read(self, run_id: RunId, after: int = 0, limit: int = 1000) -> tuple[Entry, ...]:
        checks.check_read(after, limit)
        return await self._caller.read(
            "read", lambda driver: self._operations.runs.read(driver, run_id, after, limit)
        )

    async def get_version(self, version_hash: VersionHash) -> Version:
        return await self._store.get_version(version_hash)

    async def put_version(self, version: Version) -> Version:
        """The Version as it is stored. Raises `StoreError` where it is not."""
        try:
            return await self._store.get_version(version.hash)
        except VersionNotFound:
            raise StoreError(
                f"Version {version.hash} is not stored, and cannot be while this transaction holds the write"
                " lock; publish its Spec before"
            ) from None

    def changes(
        self, run_ids: Collection[RunId] = (), *, ready: bool = False
    ) -> AbstractAsyncContextManager[Watch]:
        del run_ids, ready
        _refuse("changes")

    commit = _refused(Store.commit)
    append = _refused(Store.append)
    find_runs = _refused(Store.find_runs)
    claim = _refused(Store.claim)
    renew = _refused(Store.renew)
    release = _refused(Store.release)
    purge = _refused(Store.purge)
    erase = _refused(Store.erase)
    stats = _refused(Store.stats)
    check = _refused(Store.check)
    migrate = _refused(Store.migrate)
    close = _refused(Store.close)
