"""An import of a Run that is there already."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import pytest

from packages.core.tests.codecs import SealingCodec
from packages.runtime.tests.api_scenes import ACME, RUN, VERSION
from packages.runtime.tests.export_scenes import (
    all_of,
    contents,
    kept,
    what_is_left,
    whole,
    with_key_and_blobs,
)
from psych_runtime import (
    BlobCorrupt,
    BlobKey,
    BlobMetadata,
    InMemoryStore,
    LogConflict,
    RunQuery,
    Scope,
    SealedBlobs,
    export_run,
    import_run,
    purge,
    redacted,
)
from psych_runtime.testing import LogBuilder
from psych_runtime_memory.blobs import InMemoryBlobStore


async def test_a_run_that_is_there_gets_the_blobs_that_it_lacks_and_keeps_those_it_has() -> None:
    exported, store, blobs = await with_key_and_blobs(), InMemoryStore(), InMemoryBlobStore()
    await import_run(store, exported, blobs=blobs)
    had = await contents(blobs)
    first, second = had
    await blobs.delete(first)
    await blobs.put(second, b"of a later try", content_type="text/plain")
    assert await import_run(store, exported, blobs=blobs) == RUN
    assert await contents(blobs) == {**had, second: b"of a later try"}


async def test_a_run_that_is_erased_gets_no_blobs_back() -> None:
    exported, store, blobs = await with_key_and_blobs(), InMemoryStore(), InMemoryBlobStore()
    await import_run(store, exported, blobs=blobs)
    await blobs.delete_run("acme", RUN)
    await store.erase(RunQuery(run_ids=frozenset({RUN})))
    await import_run(store, exported, blobs=blobs)
    assert await what_is_left(store, blobs) == (1, 0)


async def test_a_run_that_is_there_gets_back_a_blob_that_is_damaged() -> None:
    class Damaged(InMemoryBlobStore):
        """Where nothing can be read that was not put since it `is_damaged`."""

        is_damaged = False

        async def head(self, key: BlobKey) -> BlobMetadata | None:
            if self.is_damaged:
                raise BlobCorrupt(key, "it is cut")
            return await super().head(key)

        async def put(self, key: BlobKey, content: Any, **told: Any) -> BlobMetadata:
            self.is_damaged = False
            return await super().put(key, content, **told)

    exported, store, blobs = await with_key_and_blobs(), InMemoryStore(), Damaged()
    await import_run(store, exported, blobs=blobs)
    had = await contents(blobs)
    await InMemoryBlobStore.put(blobs, BlobKey("acme", RUN, "call_0.1"), b"cut", content_type="text/plain")
    blobs.is_damaged = True
    await import_run(store, exported, blobs=blobs)
    assert await contents(blobs) == had


@pytest.mark.parametrize("is_destroyed", [False, True])
async def test_a_run_that_is_there_keeps_blobs_that_another_codec_sealed(*, is_destroyed: bool) -> None:
    class OtherKey(SealingCodec):
        def open(self, sealed: bytes, *, scope: Scope, bound: bytes) -> bytes | None:
            return b"nothing that was sealed"

    exported, store, inner = await with_key_and_blobs(), InMemoryStore(), InMemoryBlobStore()
    await import_run(store, exported, blobs=SealedBlobs(inner, SealingCodec()))
    had, blobs = await contents(inner), SealedBlobs(inner, OtherKey())
    if is_destroyed:
        codec = SealingCodec()
        codec.destroy("acme")
        blobs = SealedBlobs(inner, codec)
    for key in had:
        if is_destroyed:
            assert await blobs.head(key) is None
        else:
            with pytest.raises(BlobCorrupt):
                await blobs.head(key)
    await import_run(store, exported, blobs=blobs)
    assert await contents(inner) == had


async def test_a_run_that_is_purged_while_it_gets_its_blobs_leaves_none() -> None:
    class Put(InMemoryBlobStore):
        """Whose Run is purged when the first blob comes, while it `is_due`."""

        is_due = False

        async def put(self, key: BlobKey, content: Any, **told: Any) -> BlobMetadata:
            if self.is_due:
                self.is_due = False
                await purge(store, query=RunQuery(tenant="acme"), blobs=self)
            return await super().put(key, content, **told)

    exported, store, blobs = await with_key_and_blobs(), InMemoryStore(), Put()
    await import_run(store, exported, blobs=blobs)
    await blobs.delete_run("acme", RUN)
    blobs.is_due = True
    await import_run(store, exported, blobs=blobs)
    assert (blobs.is_due, await what_is_left(store, blobs)) == (False, (0, 0))


@pytest.mark.parametrize("form", ["whole", "redacted"])
async def test_what_goes_again_with_a_purged_run_another_import_has_not_lost(form: str) -> None:
    class Busy(InMemoryBlobStore):
        """Whose Run is purged when the first blob comes, and imported by another when the first one goes."""

        is_due = was_purged = False

        async def put(self, key: BlobKey, content: Any, **told: Any) -> BlobMetadata:
            known = await super().put(key, content, **told)
            if self.is_due and not self.was_purged:
                self.was_purged = True
                await purge(store, query=RunQuery(tenant="acme"), blobs=self)
            return known

        async def delete(self, key: BlobKey) -> None:
            await super().delete(key)
            if self.is_due:
                self.is_due = False
                await import_run(store, file, blobs=self)

    exported, store, blobs, alone = await with_key_and_blobs(), InMemoryStore(), Busy(), InMemoryBlobStore()
    file = exported if form == "whole" else await all_of(redacted(exported))
    await import_run(InMemoryStore(), file, blobs=alone)
    await import_run(store, exported, blobs=blobs)
    await blobs.delete_run("acme", RUN)
    blobs.is_due = True
    with nullcontext() if form == "whole" else pytest.raises(LogConflict):
        await import_run(store, exported, blobs=blobs)
    assert not blobs.is_due
    assert await contents(blobs) == await contents(alone)


async def test_an_older_copy_of_a_run_is_named_as_one() -> None:
    store, first = InMemoryStore(), InMemoryStore()
    await kept(first, whole())
    exported = await all_of(export_run(first, RUN))
    log = LogBuilder(RUN, scope=ACME, version_hash=VERSION.hash).admitted()
    await kept(store, log)
    with pytest.raises(LogConflict, match="an older copy of it is stored here, which ends with entry 1;"):
        await import_run(store, exported)
