"""A Run comes into a store from a file."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial

from psych_runtime.api.access import allow_admission, header_of, scope_of
from psych_runtime.api.arguments import blob_store
from psych_runtime.api.export_file import BlobPiece, Item
from psych_runtime.api.export_spool import KeptFile, Lines, broken, kept
from psych_runtime.api.external import until_known
from psych_runtime.api.import_blobs import BlobsOfFile, BlobsTold
from psych_runtime.api.import_checks import admission, refuse_wrong_place
from psych_runtime.pace import beside
from psych_runtime_core.errors import (
    CorruptionReason,
    IdempotencyConflict,
    LogConflict,
    RunNotFound,
    StoreError,
)
from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.blob import BlobStore
from psych_runtime_core.ports.queries import RunQuery
from psych_runtime_core.ports.runs import RunHeader
from psych_runtime_core.ports.store import Store
from psych_runtime_core.ports.writes import Admit
from psych_runtime_core.records import Entry
from psych_runtime_core.scope import Scope
from psych_runtime_core.version import Version

# So often blobs are put that others take, or that a store does not give back.
ROUNDS = 8


async def import_run(
    store: Store, lines: Lines, *, blobs: BlobStore | None = None, scope: Scope | None = None
) -> RunId:
    """Store the Run that `export_run` wrote; its id. Nothing is written before the file is known to be whole.

    It keeps its key and its request, and its claims are counted on from the last one that its log tells of.
    One that is not settled rests until `send`, `resume` or `interrupt` wakes it. What is there already stays
    as it is, and gets the blobs that it lacks, unless it was erased before. A Run that was purged here comes
    back without its key, which answers for it as it would without the file.

    Raises `CorruptLog` for a file that was cut or edited, whose log does not fold or whose header says
    otherwise, `LogConflict` where another log of this id is stored, `RecordTooNew` and `SpecValidationError`
    for a file of a newer release, `IdempotencyConflict` where its key is another Run's, `AccessDenied` for a
    Run of another tenant, or under or after one, `ValueError` where it has blobs and none are given, and
    `StoreError` where its blobs do not stay as they were put.
    """
    held, blobs = scope_of(store, scope), blob_store(blobs)
    async with kept(lines) as file:
        found = await _read(file)
        allow_admission(store, found.header, held)
        write = await beside(partial(admission, found.header, found.versions, found.entries))
        if found.blobs.by_name and blobs is None:
            raise ValueError("this Run has blobs; give blobs= to store them in")
        coming = None if blobs is None else BlobsOfFile(blobs, file, found.header, found.blobs)
        run, there = _Coming(store, coming, found, held), await _stored(store, found, held)
        if there is None:
            await _refuse_taken_key(store, found.header)
            await refuse_wrong_place(store, found.header)
            await run.come(write)
        elif not there.erased:
            await run.complete()
        if found.header.erased:
            await _erase(store, found.header)
    return found.header.run_id


@dataclass
class _Found:
    """What a file holds, but for the content of its blobs."""

    header: RunHeader
    versions: list[Version] = field(default_factory=list[Version])
    entries: list[Entry] = field(default_factory=list[Entry])
    blobs: BlobsTold = field(default_factory=BlobsTold)

    def take(self, item: Item) -> None:
        """What stands behind the header. Raises `ValueError` for what does not belong there."""
        match item:
            case Version():
                self.versions.append(item)
            case Entry():
                self.entries.append(item)
            case BlobPiece():
                self.blobs.take(item, self.header)
            case _:
                raise ValueError("it begins again, and a file is of one Run")


async def _read(file: KeptFile) -> _Found:
    items = file.items()
    await anext(items)  # the start, which was looked at before
    header = await anext(items, None)
    if not isinstance(header, RunHeader):
        raise broken(0, "it does not say first of which Run it is")
    found = _Found(header)
    async for item in items:
        try:
            found.take(item)
        except ValueError as error:
            raise broken(len(found.entries), str(error)) from error
    return found


async def _stored(store: Store, found: _Found, held: Scope | None) -> RunHeader | None:
    """The Run as it is stored: this log of it, by itself or with what came since; None where none is.

    Raises `LogConflict` where another log is, and `AccessDenied`, with nothing read, for another tenant's.
    """
    header = found.header
    try:
        stored = await header_of(store, header.run_id, held)
        last = await store.read(header.run_id, header.head.seq - 1, 1)
    except RunNotFound:
        return None
    if stored.scope.tenant == header.scope.tenant and last and last[0].head == header.head:
        return stored
    raise LogConflict(CorruptionReason.WRONG_LOG, header.run_id, header.head.seq, _conflict(stored, found))


def _conflict(stored: RunHeader, found: _Found) -> str:
    seq = stored.head.seq
    if seq < len(found.entries) and found.entries[seq - 1].head == stored.head:
        return f"an older copy of it is stored here, which ends with entry {seq}"
    return "another log is stored here under this id, as a redacted one would be"


async def _refuse_taken_key(store: Store, header: RunHeader) -> None:
    key = header.idempotency_key
    if key is not None:
        asked = RunQuery(tenant=header.scope.tenant, idempotency_key=key)
        for other in (await store.find_runs(asked)).items:
            raise IdempotencyConflict(key, other.run_id, "log")


@dataclass(frozen=True)
class _Coming:
    """A Run of a file, and the store that it comes into."""

    store: Store
    blobs: BlobsOfFile | None
    found: _Found
    held: Scope | None

    async def come(self, write: Admit) -> None:
        """Store its blobs, its Versions, and then its log.

        Raises `IdempotencyConflict`, `LogConflict` where another came first, and `StoreError` where its blobs
        do not stay.
        """
        await self._put_blobs()
        for version in self.found.versions:
            await until_known(self.store, partial(self.store.put_version, version))
        try:
            await self._admit(write)
        except IdempotencyConflict:
            with suppress(LogConflict):
                await self._match_blobs(replacing=True)
            raise
        await self._match_blobs(replacing=True)

    async def complete(self) -> None:
        """Store the blobs that the Run, which is there, lacks or has damaged. Raises as `come` does."""
        await self._match_blobs(replacing=False)

    async def _admit(self, write: Admit) -> None:
        header = write.header
        stood = await until_known(self.store, lambda: self.store.admit(header, write.entries))
        if stood != header.run_id and header.idempotency_key is not None:
            raise IdempotencyConflict(header.idempotency_key, stood, "log")
        if await self._stored() is None:
            # It was purged: long ago, or right now, and its blobs with it.
            await self._put_blobs()
            nameless = header.model_copy(update={"idempotency_key": None})
            await until_known(self.store, lambda: self.store.admit(nameless, write.entries))

    async def _put_blobs(self) -> None:
        """Have all blobs stand before the Run does, so that no cut leaves it without one.

        Raises `LogConflict` where another log of this id stands, whose blobs they are.
        """
        if self.blobs is not None:
            await self.blobs.put(await self.blobs.others(), self._stored)

    async def _match_blobs(self, *, replacing: bool) -> None:
        """Have all blobs stand if the Run does, and else take back what came, whatever others did meanwhile.

        A purge that took the blobs before they came, and takes the Run once they did, leaves them. Another
        log of this id that comes right as one is taken back lacks it until it is imported again. Raises
        `LogConflict` where another log of this id stands, whose blobs they are, and `StoreError`.
        """
        if self.blobs is None:
            return
        for _ in range(ROUNDS):
            names = await (self.blobs.others() if replacing else self.blobs.lacking())
            stored = await self._stored()
            if stored is None:
                # Another import may come meanwhile, and find all there.
                await self.blobs.take_back(self._stored)
                if await self._stored() is None:
                    return
            elif names:
                await self.blobs.put(names, self._stored)
            else:
                return
        run_id = self.found.header.run_id
        raise StoreError(f"the blobs of {run_id} do not stay as they were put; purge it and import it again")

    async def _stored(self) -> RunHeader | None:
        return await _stored(self.store, self.found, self.held)


async def _erase(store: Store, header: RunHeader) -> None:
    """Say that a Run is erased, where it came from this file and not whole."""
    # Whoever purged it meanwhile left nothing to erase.
    with suppress(RunNotFound):
        if (await store.get_run(header.run_id)).request == header.request:
            await store.erase(RunQuery(run_ids=frozenset({header.run_id})))
