"""What every group of blob tests stands on."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import shake_128
from typing import ClassVar

import pytest

from psych_runtime_contract.plugin import leave_out
from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.blob import CHUNK_BYTES, BlobKey, BlobMetadata, BlobStore

KEY = BlobKey("acme", RunId("run_a"), "call_a.1")
OTHER = BlobKey("acme", RunId("run_a"), "call_a.1.report")
LARGE = shake_128(b"large").digest(2 * CHUNK_BYTES + 77)
"""A chunk, another, and a part of one; nowhere does it look like elsewhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BlobCaps:
    """What a blob store can do; a test of what it cannot is left out, and says so.

    `flat`: content is never held in memory as a whole.
    """

    flat: bool = True


@pytest.mark.anyio
class BlobBase:
    """A class for one blob store says its `caps`, and has a fixture `blobs` that gives one without blobs."""

    caps: ClassVar[BlobCaps] = BlobCaps()

    @pytest.fixture
    def anyio_backend(self) -> str:
        """The event loop there is."""
        return "asyncio"

    async def corrupt(self, blobs: BlobStore, key: BlobKey) -> None:
        """Change a byte of what is stored of a blob's content, unseen. Override it where that can be done."""
        del blobs, key
        leave_out("corrupt(blobs, key)")


async def put(
    blobs: BlobStore, content: bytes = b"content", key: BlobKey = KEY, **metadata: str
) -> BlobMetadata:
    """A blob that is stored."""
    return await blobs.put(key, content, content_type="text/plain", metadata=metadata)


async def flow(*pieces: bytes) -> AsyncGenerator[bytes]:
    """Content that comes piece by piece."""
    for piece in pieces:
        yield piece


async def pieces_of(content: AsyncIterator[bytes]) -> list[bytes]:
    """All that is left to read."""
    return [piece async for piece in content]


async def listed(
    blobs: BlobStore, tenant: str | None = None, run_id: RunId | None = None, limit: int = 1_000
) -> dict[BlobKey, BlobMetadata]:
    """What a list has, page by page, each key once."""
    page = await blobs.list(tenant, run_id, limit=limit)
    items: list[tuple[BlobKey, BlobMetadata]] = [*page.items]
    while page.cursor is not None:
        page = await blobs.list(tenant, run_id, limit=limit, cursor=page.cursor)
        assert len(page.items) <= limit
        items += page.items
    return once(items)


def once(items: Sequence[tuple[BlobKey, BlobMetadata]]) -> dict[BlobKey, BlobMetadata]:
    """Items by key. Fails where one comes twice."""
    found: Mapping[BlobKey, BlobMetadata] = dict(items)
    assert len(found) == len(items), f"listed twice: {[key for key, _ in items]}"
    return dict(found)
