"""Large bytes that records name: one blob a key, whole or absent."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Protocol

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from psych_runtime_core.frozen import FrozenDict
from psych_runtime_core.ids import RunId, checked_identifier
from psych_runtime_core.ports.queries import Page
from psych_runtime_core.records.base import Count, Instant
from psych_runtime_core.scope import Scope

MAX_BLOB_BYTES = 5 * 1024**3
MAX_METADATA = 32
MAX_METADATA_TEXT = 256
CHUNK_BYTES = 262_144


@dataclass(frozen=True, slots=True)
class BlobKey:
    """Where a blob stands. `call_id` is `<call, step or run>.<epoch>` and may end in `.<slot>`.

    A tenant may be called anything a `Scope` allows, `org/team` too: who makes paths encodes it. Raises
    `ValueError` for other parts that are `.` or `..` or hold a slash, and for any that is no identifier.
    """

    tenant: str
    run_id: RunId
    call_id: str

    def __post_init__(self) -> None:
        checked_identifier(self.tenant)
        for part in map(checked_identifier, (self.run_id, self.call_id)):
            if part in {".", ".."} or "/" in part or "\\" in part:
                raise ValueError(f"{part!r} cannot be a part of a blob's key: no slash, no '.' or '..'")


class BlobMetadata(BaseModel):
    """What is known of a blob. `size` is in bytes, `sha256` 64 hex digits of the content."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    size: Count
    content_type: str
    sha256: Annotated[str, Field(pattern="[0-9a-f]{64}")]
    metadata: Annotated[Mapping[str, str], AfterValidator(FrozenDict), Field(validate_default=True)] = {}
    created_at: Instant


class BlobStore(Protocol):
    """Keeps blobs. Keys come from records, never from a model."""

    async def put(
        self,
        key: BlobKey,
        content: bytes | AsyncIterable[bytes],
        *,
        content_type: str,
        metadata: Mapping[str, str] | None = None,
    ) -> BlobMetadata:
        """Store a blob, or replace the one that stands there: all of it appears at once, or nothing.

        Raises `ValueError` for metadata out of bounds or with lone surrogates, and for content over 5 GiB.
        """
        ...

    async def get(self, key: BlobKey, *, offset: int = 0, length: int | None = None) -> bytes:
        """A range, clamped to what there is. Raises `BlobNotFound`, and `BlobCorrupt` for a whole blob."""
        ...

    def open(self, key: BlobKey, *, chunk: int = CHUNK_BYTES) -> AsyncIterator[bytes]:
        """The content in pieces of `chunk` bytes; it pins nothing between them.

        Raises `BlobNotFound`, and `BlobCorrupt` where the content changed under the reader.
        """
        ...

    async def head(self, key: BlobKey) -> BlobMetadata | None:
        """What is known of a blob; None when there is none."""
        ...

    async def delete(self, key: BlobKey) -> None:
        """Remove a blob, if it is there."""
        ...

    async def list(
        self, tenant: str | None, run_id: RunId | None = None, *, cursor: str | None = None, limit: int = 1000
    ) -> Page[tuple[BlobKey, BlobMetadata]]:
        """The blobs of a Run, of a tenant, or all; each once, at most `limit` (1 to 1 000) a page."""
        ...

    async def delete_run(self, tenant: str, run_id: RunId) -> int:
        """Remove all blobs of a Run; how many."""
        ...


def blob_key(scope: Scope, run_id: RunId, call_id: str) -> BlobKey:
    """The key of a blob of a Run. Raises `ValueError` for a part that no key has."""
    return BlobKey(scope.tenant, run_id, call_id)


def blobs_of(store: object) -> BlobStore | None:
    """The blobs that a store keeps beside its Runs; None of one that keeps none."""
    return getattr(store, "blobs", None)


def clamp(size: int, offset: int, length: int | None) -> tuple[int, int]:
    """Where a range of a blob of `size` bytes begins and ends. Raises `ValueError` for a negative one."""
    if offset < 0 or (length is not None and length < 0):
        raise ValueError(f"a range has no negative offset or length: {offset}, {length}")
    start = min(offset, size)
    return start, size if length is None else min(start + length, size)


def check_blob(content_type: str, metadata: Mapping[str, str]) -> None:
    """Raise `ValueError` for a content type or metadata that no blob has."""
    checked_identifier(content_type)
    if len(metadata) > MAX_METADATA:
        raise ValueError(f"a blob has at most {MAX_METADATA} pairs of metadata, this one {len(metadata)}")
    for text in (*metadata, *metadata.values()):
        if len(text) > MAX_METADATA_TEXT:
            raise ValueError(f"metadata has keys and values of at most {MAX_METADATA_TEXT} characters")
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise ValueError("metadata holds no lone surrogates: no store keeps them") from error


def check_blob_size(size: int) -> None:
    """Raise `ValueError` for content over 5 GiB."""
    if size > MAX_BLOB_BYTES:
        raise ValueError(f"a blob has at most {MAX_BLOB_BYTES} bytes")


def check_chunk(chunk: int) -> None:
    """Raise `ValueError` for pieces of less than a byte."""
    if chunk < 1:
        raise ValueError(f"a blob is read in pieces of 1 byte or more, not {chunk}")


def check_blob_page(tenant: str | None, run_id: RunId | None, limit: int) -> None:
    """Raise `ValueError` for a page that no blob store has."""
    if tenant is None and run_id is not None:
        raise ValueError("a Run's blobs are listed with its tenant")
    if not 1 <= limit <= 1_000:
        raise ValueError(f"a page has 1 to 1000 blobs, not {limit}")


async def pieces(content: bytes | AsyncIterable[bytes], size: int = CHUNK_BYTES) -> AsyncGenerator[bytes]:
    """Content in pieces of `size` bytes, the last one shorter, however it comes.

    Raises `ValueError` where it goes beyond 5 GiB.
    """
    held, total = bytearray(), 0
    async for piece in _whole(content) if isinstance(content, bytes) else content:
        held += piece
        total += len(piece)
        check_blob_size(total)
        while len(held) >= size:
            yield bytes(held[:size])
            del held[:size]
    if held:
        yield bytes(held)


async def _whole(content: bytes) -> AsyncGenerator[bytes]:
    yield content
