"""The content of blobs: chunks under the id of their upload."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Dialect, bindparam, delete, func, insert, select

from psych_runtime_core.ports.blob import CHUNK_BYTES
from psych_runtime_sql.driver import Driver, compiled
from psych_runtime_sql.marks import Mark
from psych_runtime_sql.small_tables import CHUNK
from psych_runtime_sql.sweeps import Budget

CHUNKS_AT_ONCE = 2
"""Half a mebibyte: what one transaction stores."""
READ_AT_ONCE = 4
"""A mebibyte: what one look reads."""
# A database follows the pages of a large row to free them, and writes each: so as many go at once as come.
WEIGHT = 8


class Chunks:
    """Operations on content, each inside one transaction of the driver it is given.

    As a `Sweep` it takes away what an upload stored that no blob names.
    """

    def __init__(self, dialect: Dialect) -> None:
        of_upload = CHUNK.c.upload == bindparam("of_upload")
        within = CHUNK.c.n.between(bindparam("first"), bindparam("last"))
        sizes = select(CHUNK.c.n, func.length(CHUNK.c.body)).where(of_upload).order_by(CHUNK.c.n.desc())
        self._insert = compiled(insert(CHUNK), dialect)
        self._bodies = compiled(select(CHUNK.c.body).where(of_upload, within).order_by(CHUNK.c.n), dialect)
        self._sizes = compiled(sizes.limit(bindparam("limit")), dialect)
        self._delete = compiled(delete(CHUNK).where(of_upload, CHUNK.c.n >= bindparam("first")), dialect)

    async def store(self, driver: Driver, upload: str, first: int, bodies: Sequence[bytes]) -> None:
        """Add content, from the chunk of this number on."""
        for n, body in enumerate(bodies, first):
            await self._insert.fetch(driver, {"upload": upload, "n": n, "body": body})

    async def read(self, driver: Driver, upload: str, start: int, end: int) -> bytes:
        """The content from `start` to `end`, or to the end of the fourth chunk. Empty when a part is gone."""
        if start == end:
            return b""
        first = start // CHUNK_BYTES
        last = min((end - 1) // CHUNK_BYTES, first + READ_AT_ONCE - 1)
        rows = await self._bodies.fetch(driver, {"of_upload": upload, "first": first, "last": last})
        before, behind = first * CHUNK_BYTES, min(end, (last + 1) * CHUNK_BYTES)
        content = b"".join([body for (body,) in rows])[start - before : behind - before]
        return content if len(content) == behind - start else b""

    async def __call__(self, driver: Driver, mark: Mark, budget: Budget) -> bool:
        rows = await self._sizes.fetch(driver, {"of_upload": mark.id, "limit": budget.rows + 1})
        taken = budget.take([WEIGHT * size for _, size in rows])
        if taken:
            await self._delete.fetch(driver, {"of_upload": mark.id, "first": rows[taken - 1][0]})
        return taken == len(rows)
