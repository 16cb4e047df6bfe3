"""What a Run has kept and may be read on, each part of it fetched once by an Attempt."""

from __future__ import annotations

import hashlib

import anyio

from psych_runtime.attempt.last_used import LastUsed
from psych_runtime.attempt.media import MediaLoader
from psych_runtime.attempt.patience import patiently
from psych_runtime.attempt.placing import JSON_TYPE
from psych_runtime.attempt.reading import decoded
from psych_runtime.attempt.run_blobs import GET_SECONDS, RunBlobs
from psych_runtime.runtime import Runtime
from psych_runtime.tools.builtins.read_output import Kept
from psych_runtime.tools.lines import lines_of
from psych_runtime_core.engine.results import result_digest
from psych_runtime_core.errors import BlobCorrupt, BlobNotFound
from psych_runtime_core.jsonvalue import encode_json
from psych_runtime_core.records.facts import ResultAttachment
from psych_runtime_core.records.tool import ToolCallFinished
from psych_runtime_core.state.handles import Handle
from psych_runtime_core.state.run import RunStateView

KEPT_BYTES = 64 * 1024 * 1024


class Outputs:
    """The results and files of one Run. A handle is looked up in its state, and never made into a key.

    `media` gives requests the bytes of what they show. Both share one cache.
    """

    def __init__(self, runtime: Runtime, state: RunStateView) -> None:
        self._store, self._state = runtime.store, state
        self.blobs = RunBlobs(runtime.blobs, state.scope, runtime.store.clock)
        self._kept = LastUsed(KEPT_BYTES)
        self.media = MediaLoader(self.blobs, self._kept)
        self._one_at_a_time = anyio.Lock()

    def knows(self, handle: str) -> bool:
        """Whether a result or a file of this Run has that handle."""
        return handle in self._state.handles

    async def read(self, handle: str) -> Kept:
        """What a known handle names. Raises `BlobNotFound`, `BlobCorrupt`, `StoreUnavailable`."""
        async with self._one_at_a_time:
            kept: Kept | None = self._kept.get(handle)
            if kept is None:
                kept = await self._read(handle, self._state.handles[handle])
                self._kept.put(handle, kept, kept.lines.held_bytes if kept.lines else 0)
            return kept

    async def _read(self, name: str, handle: Handle) -> Kept:
        record = await self._record(name, handle)
        if name == record.result_handle:
            data, content_type = await self._value(record), record.result_content_type or JSON_TYPE
        else:
            file = next(each for each in record.attachments if each.handle == name)
            data, content_type = await self._file(file, handle), file.content_type
        return Kept(handle.size_bytes, await lines_of(data, content_type))

    async def _record(self, name: str, handle: Handle) -> ToolCallFinished:
        """The record in which it stands, if its content is still there."""
        run_id, clock = self._state.run_id, self._store.clock
        page = await patiently(lambda: self._store.read(run_id, handle.seq - 1, 1), clock, GET_SECONDS)
        record = decoded(self._store, self._state.scope, run_id, page[0]) if page else None
        if not isinstance(record, ToolCallFinished) or record.erased:
            raise BlobNotFound(name)
        return record

    async def _value(self, record: ToolCallFinished) -> bytes:
        if record.result_blob_key is None:
            return encode_json(record.result)
        data = await self.blobs.get(record.run_id, record.result_blob_key)
        if result_digest(self._state.digest_salt, data, record.attachments) != record.answer_digest:
            raise BlobCorrupt(record.result_blob_key, "it is not the result that was recorded")
        return data

    async def _file(self, file: ResultAttachment, handle: Handle) -> bytes:
        if handle.blob_key is None:
            return file.data or b""
        data = await self.blobs.get(self._state.run_id, handle.blob_key)
        if file.sha256 not in {None, hashlib.sha256(data).hexdigest()}:
            raise BlobCorrupt(handle.blob_key, "it is not the file that was recorded")
        return data
