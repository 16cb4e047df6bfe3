"""The content of a blob on its way in: a mark first, then slices, then the blob with the last of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from secrets import token_hex
from typing import Any

from psych_runtime_core.errors import StoreError
from psych_runtime_core.ports.blob import BlobMetadata
from psych_runtime_sql.blob_rows import Blob, BlobRows
from psych_runtime_sql.chunks import Chunks
from psych_runtime_sql.driver import Driver
from psych_runtime_sql.marks import Mark, MarkKind, Marks
from psych_runtime_sql.outcome import Outcome
from psych_runtime_sql.sweeps import Sweeper


@dataclass(slots=True)
class Arrival:
    """Content that comes in, chunk by chunk: so many are `stored`, and the last ones are `held`."""

    upload: str = field(default_factory=lambda: token_hex(16))
    stored: int = 0
    held: list[bytes] = field(default_factory=list[bytes])
    size: int = 0
    digest: Any = field(default_factory=sha256)

    def take(self, chunk: bytes) -> None:
        """The next chunk has come."""
        self.held.append(chunk)
        self.size += len(chunk)
        self.digest.update(chunk)

    def let_go(self) -> None:
        """What was held is stored."""
        self.stored += len(self.held)
        self.held.clear()

    def known(self, content_type: str, metadata: Mapping[str, str], now: datetime) -> BlobMetadata:
        """What there is to know of it, now that all has come."""
        return BlobMetadata(
            size=self.size,
            content_type=content_type,
            sha256=self.digest.hexdigest(),
            metadata=metadata,
            created_at=now,
        )


class Uploads:
    """The steps of an upload, each inside one transaction of the driver it is given."""

    def __init__(self, rows: BlobRows, chunks: Chunks, marks: Marks, sweeper: Sweeper) -> None:
        self._rows, self._chunks, self._marks, self._sweeper = rows, chunks, marks, sweeper

    async def go_on(self, driver: Driver, arrival: Arrival, tenant: str, now: datetime) -> Outcome[None]:
        """Store what is held, under a mark that tells when."""
        await self._require(driver, arrival)
        await self._marks.put(driver, Mark(arrival.upload, MarkKind.UPLOAD, tenant, now))
        await self._chunks.store(driver, arrival.upload, arrival.stored, arrival.held)
        return Outcome(None)

    async def end(
        self, driver: Driver, arrival: Arrival, blob: Blob, now: datetime
    ) -> Outcome[tuple[Mark, ...]]:
        """Store what is held and let the blob appear; the mark of what it replaces."""
        await self._require(driver, arrival)
        await self._marks.remove(driver, arrival.upload)
        await self._chunks.store(driver, arrival.upload, arrival.stored, arrival.held)
        return Outcome(await self._rows.publish(driver, blob, now))

    async def give_up(self, driver: Driver, upload: str) -> Outcome[tuple[Mark, ...]]:
        """Take away a slice of what was stored; the mark, while something is left."""
        mark = await self._marks.of(driver, upload)
        return await self._sweeper.slice(driver, [mark] if mark else [])

    async def _require(self, driver: Driver, arrival: Arrival) -> None:
        """Raise `StoreError` when a purge took away what is stored: for a day nothing had come."""
        if arrival.stored and await self._marks.of(driver, arrival.upload) is None:
            raise StoreError(
                "blobs.put: its content came to a halt for over a day, and what was stored of it is gone; put"
                " it again from the beginning"
            )
