"""All blob stores do what every blob store does, also with seals in front."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from psych_runtime_contract.blob import BlobCaps, BlobContract
from psych_runtime_contract.codec import SealingStandIn
from psych_runtime_core.ports.blob import BlobKey, BlobStore
from psych_runtime_core.ports.sealed_blobs import SealedBlobs
from psych_runtime_memory import FilesystemBlobStore, InMemoryBlobStore
from psych_runtime_sqlite import SQLiteStore


class EitherWay(BlobContract):
    """Judges a blob store by itself, and once more behind seals."""

    @pytest.fixture(params=["plain", "sealed"])
    def blobs(self, request: pytest.FixtureRequest, inner: BlobStore) -> BlobStore:
        return inner if request.param == "plain" else SealedBlobs(inner, SealingStandIn())


class TestInMemoryBlobs(EitherWay):
    caps = BlobCaps(flat=False)

    @pytest.fixture
    def inner(self) -> BlobStore:
        return InMemoryBlobStore()


class TestFilesystemBlobs(EitherWay):
    @pytest.fixture
    def inner(self, tmp_path: Path) -> BlobStore:
        self.root = tmp_path / "blobs"
        return FilesystemBlobStore(self.root)

    async def corrupt(self, blobs: BlobStore, key: BlobKey) -> None:
        file = self.root / key.tenant / key.run_id / key.call_id
        label, line_end, body = file.read_bytes().partition(b"\n")
        file.write_bytes(label + line_end + turned(body))


class TestSQLiteBlobs(EitherWay):
    @pytest.fixture
    async def inner(self, tmp_path: Path) -> AsyncGenerator[BlobStore]:
        self.path = tmp_path / "psych.db"
        async with SQLiteStore(self.path) as store:
            await store.migrate()
            yield store.blobs

    async def corrupt(self, blobs: BlobStore, key: BlobKey) -> None:
        connection = sqlite3.connect(self.path)
        of_blob = "upload = (SELECT upload FROM psych_blob WHERE call_id = ?)"
        with connection:
            chunks = connection.execute(
                f"SELECT rowid, body FROM psych_blob_chunk WHERE {of_blob} ORDER BY n", (key.call_id,)
            )
            rowid, body = chunks.fetchone()
            connection.execute("UPDATE psych_blob_chunk SET body = ? WHERE rowid = ?", (turned(body), rowid))
        connection.close()


def turned(body: bytes) -> bytes:
    """Other bytes of the same length."""
    return bytes([body[0] ^ 1]) + body[1:]
