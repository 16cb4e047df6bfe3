"""Blobs that are whole: which there are, and how they come and go."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Dialect, and_, bindparam, delete, insert, select, tuple_

from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.blob import BlobKey, BlobMetadata
from psych_runtime_sql.driver import Driver, Row, compiled
from psych_runtime_sql.marks import Mark, MarkKind, Marks
from psych_runtime_sql.rows import instant, micros
from psych_runtime_sql.small_tables import BLOB

Place = tuple[str, ...]
"""Tenant, Run and call of a blob, or the first of them."""

_PARTS = (BLOB.c.tenant, BLOB.c.run_id, BLOB.c.call_id)


@dataclass(frozen=True, slots=True)
class Blob:
    """A blob, and the upload that its content came with."""

    key: BlobKey
    upload: str
    known: BlobMetadata


class BlobRows:
    """Operations on blobs, each inside one transaction of the driver it is given."""

    def __init__(self, marks: Marks, dialect: Dialect) -> None:
        self._marks = marks
        self._find = compiled(_blobs().where(_within(3)), dialect)
        self._insert = compiled(insert(BLOB), dialect)
        self._delete = compiled(delete(BLOB).where(_within(3)).returning(BLOB.c.upload), dialect)
        self._pages = tuple(compiled(_page(parts), dialect) for parts in range(3))

    async def find(self, driver: Driver, key: BlobKey) -> Blob | None:
        """The blob of a key."""
        rows = await self._find.fetch(driver, _named("of", place_of(key)))
        return _blob(rows[0]) if rows else None

    async def publish(self, driver: Driver, blob: Blob, now: datetime) -> tuple[Mark, ...]:
        """Let a blob appear, whole; the mark of the one it replaces."""
        replaced = await self.withdraw(driver, [blob.key], now)
        await self._insert.fetch(driver, _row(blob))
        return replaced

    async def withdraw(self, driver: Driver, keys: Iterable[BlobKey], now: datetime) -> tuple[Mark, ...]:
        """Let blobs vanish. Their content is left under these marks."""
        marks: list[Mark] = []
        for key in keys:
            for (upload,) in await self._delete.fetch(driver, _named("of", place_of(key))):
                marks.append(Mark(upload, MarkKind.UPLOAD, key.tenant, now))
                await self._marks.put(driver, marks[-1])
        return tuple(marks)

    async def page(self, driver: Driver, within: Place, behind: Place, limit: int) -> tuple[Blob, ...]:
        """The next blobs whose keys begin with `within`, by the bytes of the keys."""
        values = _named("of", within) | _named("behind", behind) | {"limit": limit}
        return tuple(_blob(row) for row in await self._pages[len(within)].fetch(driver, values))


def place_of(key: BlobKey) -> Place:
    """All of a key."""
    return key.tenant, key.run_id, key.call_id


def _blobs() -> Any:
    known = (BLOB.c.size, BLOB.c.content_type, BLOB.c.sha256, BLOB.c.metadata, BLOB.c.created_at)
    return select(*_PARTS, BLOB.c.upload, *known)


def _page(parts: int) -> Any:
    """Blobs in order, where so many parts of the keys are given."""
    rest = _PARTS[parts:]
    behind: list[ColumnElement[str]] = [bindparam(f"behind_{column.name}") for column in rest]
    return (
        _blobs()
        .where(_within(parts), tuple_(*rest) > tuple_(*behind))
        .order_by(*_PARTS)
        .limit(bindparam("limit"))
    )


def _within(parts: int) -> ColumnElement[bool]:
    return and_(True, *(column == bindparam(f"of_{column.name}") for column in _PARTS[:parts]))


def _named(prefix: str, place: Place) -> dict[str, object]:
    names = (column.name for column in _PARTS)
    return {f"{prefix}_{name}": part for name, part in zip(names, place, strict=False)}


def _row(blob: Blob) -> dict[str, object]:
    known = blob.known
    return {
        **dict(zip((column.name for column in _PARTS), place_of(blob.key), strict=True)),
        "upload": blob.upload,
        "content_type": known.content_type,
        # As ASCII, so that every text is one that a database can store.
        "metadata": json.dumps(dict(known.metadata)),
        "size": known.size,
        "sha256": bytes.fromhex(known.sha256),
        "created_at": micros(known.created_at),
    }


def _blob(row: Row) -> Blob:
    tenant, run_id, call_id, upload, size, content_type, digest, metadata, created_at = row
    known = BlobMetadata(
        size=size,
        content_type=content_type,
        sha256=digest.hex(),
        metadata=json.loads(metadata),
        created_at=instant(created_at),
    )
    return Blob(BlobKey(tenant, RunId(run_id), call_id), upload, known)
