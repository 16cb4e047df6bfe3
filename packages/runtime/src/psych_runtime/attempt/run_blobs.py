"""The blobs of Runs, as an Attempt stores and fetches them."""

from __future__ import annotations

from dataclasses import dataclass, field

from psych_runtime.attempt.patience import patiently
from psych_runtime_core.clock import Clock
from psych_runtime_core.errors import BlobNotFound
from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.blob import BlobKey, BlobStore, blob_key
from psych_runtime_core.scope import Scope

# A result that nobody can keep for so long is lost, and its call an error: who stops a Run waits no longer.
PUT_SECONDS = 30.0
GET_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Blob:
    """Bytes for a blob store; `name` is the last part of their key."""

    name: str
    data: bytes = field(repr=False)
    content_type: str


@dataclass(frozen=True, slots=True)
class RunBlobs:
    """The blobs of one tenant's Runs. Without a `store` none is there."""

    store: BlobStore | None
    scope: Scope
    clock: Clock

    async def put(self, run_id: RunId, blob: Blob) -> None:
        """Store a blob, or replace what a cut left. Raises what the store does, after a while of asking."""
        store = self.store
        assert store is not None, "what needs a blob store is refused where there is none"
        key = blob_key(self.scope, run_id, blob.name)
        await patiently(
            lambda: store.put(key, blob.data, content_type=blob.content_type), self.clock, PUT_SECONDS
        )

    async def get(self, run_id: RunId, name: str) -> bytes:
        """A whole blob. Raises `BlobNotFound`, `BlobCorrupt`, and after a while `StoreUnavailable`."""
        store, key = self.store, self._key(run_id, name)
        if store is None:
            raise BlobNotFound(key)
        return await patiently(lambda: store.get(key), self.clock, GET_SECONDS)

    def _key(self, run_id: RunId, name: str) -> BlobKey:
        try:
            return blob_key(self.scope, run_id, name)
        except ValueError:
            # Nobody stores a blob under a name that is none.
            raise BlobNotFound(name) from None
