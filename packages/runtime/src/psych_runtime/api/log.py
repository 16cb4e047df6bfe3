"""Reading the log of one Run."""

from __future__ import annotations

from psych_runtime.attempt.reading import PAGE, decoded
from psych_runtime_core.errors import CorruptionReason, CorruptLog
from psych_runtime_core.ports.runs import RunHeader
from psych_runtime_core.ports.store import Store
from psych_runtime_core.records import GENESIS, Entry, Head, Record, verify


class LogReader:
    """Reads behind the seq `after`, page by page, each entry once, its chain verified from there on."""

    def __init__(self, store: Store, header: RunHeader, after: int = 0) -> None:
        self.run_id = header.run_id
        self._store, self._scope, self._after = store, header.scope, after
        self._head: Head | None = None if after else GENESIS

    @property
    def head(self) -> Head:
        """Where the log ends, as far as it was read."""
        assert self._head is not None, "a page was read"
        return self._head

    async def page(self, limit: int = PAGE) -> tuple[Entry, ...]:
        """The next entries, at most `limit`; none when the log ends here. Raises `CorruptLog`."""
        head = self._head or await self._start()
        if head is None:
            return ()
        page = await self._store.read(self.run_id, head.seq, limit)
        self._head = verify(page, run_id=self.run_id, after=head)
        return page

    async def records(self, limit: int = PAGE) -> tuple[Record, ...]:
        """The next page as Records. Raises `CorruptLog`, `RecordTooNew`."""
        await self._store.codec.prepare(self._scope)
        return tuple(map(self.decoded, await self.page(limit)))

    def decoded(self, entry: Entry) -> Record:
        """The Record of an entry, once the store's codec is prepared."""
        return decoded(self._store, self._scope, self.run_id, entry)

    async def _start(self) -> Head | None:
        """The entry that the chain is verified from; None while the log does not reach it."""
        page = await self._store.read(self.run_id, self._after - 1, 1)
        if not page:
            return None
        if page[0].seq != self._after:
            detail = f"entry {self._after} is missing, {page[0].seq} stands in its place"
            raise CorruptLog(CorruptionReason.WRONG_LOG, self.run_id, self._after, detail)
        self._head = page[0].head
        return self._head
