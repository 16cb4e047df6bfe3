"""An import of a Run that is there already."""

from __future__ import annotations

from typing import Any

import pytest

from packages.core.tests.codecs import SealingCodec
from packages.runtime.tests.api_scenes import ACME, RUN, VERSION
from packages.runtime.tests.export_scenes import (
    Beside,
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
    Store,
    export_run,
    import_run,
    purge,
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


@pytest.mark.parametrize("is_there", [False, True])
async def test_what_comes_for_a_run_that_is_erased_meanwhile_goes_again(*, is_there: bool) -> None:
    class Put(InMemoryBlobStore):
        """Whose Run is erased as soon as it is there when a blob comes."""

        async def put(self, key: BlobKey, content: Any, **told: Any) -> BlobMetadata:
            if is_there:
                await store.erase(RunQuery(run_ids=frozenset({RUN})))
            return await super().put(key, content, **told)

    async def erase(store: Store) -> None:
        await store.erase(RunQuery(run_ids=frozenset({RUN})))

    exported, blobs = await with_key_and_blobs(), Put()
    store = Beside("admit", 0 if is_there else 1, erase)
    if is_there:
        await import_run(store, exported, blobs=InMemoryBlobStore())
    await import_run(store, exported, blobs=blobs)
    assert await what_is_left(store, blobs) == (1, 0)


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


async def test_an_older_copy_of_a_run_is_named_as_one() -> None:
    store, first = InMemoryStore(), InMemoryStore()
    await kept(first, whole())
    exported = await all_of(export_run(first, RUN))
    log = LogBuilder(RUN, scope=ACME, version_hash=VERSION.hash).admitted()
    await kept(store, log)
    with pytest.raises(LogConflict, match="an older copy of it is stored here, which ends with entry 1;"):
        await import_run(store, exported)
