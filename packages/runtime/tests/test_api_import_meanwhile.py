"""What others do to a Run, its key and its blobs while it is imported."""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from packages.core.tests.codecs import SealingCodec
from packages.runtime.tests.api_scenes import ACME, RUN, STORES, VERSION, opened
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
    BlobKey,
    BlobMetadata,
    IdempotencyConflict,
    InMemoryStore,
    LogConflict,
    RunHeader,
    RunId,
    RunNotFound,
    RunQuery,
    SealedBlobs,
    Store,
    StoreError,
    export_run,
    import_run,
    purge,
    redacted,
)
from psych_runtime.testing import LogBuilder, StoreProxy
from psych_runtime_core.ports.sealed_blobs import SEALED_TYPE
from psych_runtime_memory.blobs import InMemoryBlobStore


class Purged(Beside):
    """Purges, with the blobs, behind so many of the calls of one method."""

    def __init__(self, method: str, calls: int, blobs: InMemoryBlobStore) -> None:
        super().__init__(method, calls, partial(purge, query=RunQuery(tenant="acme"), blobs=blobs))


@pytest.mark.parametrize("kind", STORES)
async def test_a_key_that_a_purged_run_answers_for_is_a_conflict_and_leaves_no_blobs(
    kind: str, tmp_path: Path
) -> None:
    exported, blobs = await with_key_and_blobs(), InMemoryBlobStore()
    async with opened(kind, tmp_path) as store:
        theirs = LogBuilder("run_theirs", scope=ACME, version_hash=VERSION.hash).admitted().abort().settled()
        await kept(store, theirs, idempotency_key="order-1", request=b"r" * 32)
        await purge(store, query=RunQuery(tenant="acme"))
        await blobs.put(BlobKey("acme", RUN, "call_9.1"), b"of nobody", content_type="text/plain")
        with pytest.raises(IdempotencyConflict):
            await import_run(store, exported, blobs=blobs)
        assert not (await store.find_runs(RunQuery())).items
        assert [key.call_id for key, _ in (await blobs.list(None)).items] == ["call_9.1"]


async def test_the_blobs_of_a_run_that_came_meanwhile_stay() -> None:
    class Late(StoreProxy):
        """Whose Run is stored by somebody else, without its key, when it is admitted with one."""

        async def admit(self, header: RunHeader, entries: Any) -> Any:
            await super().admit(header.model_copy(update={"idempotency_key": None}), entries)
            raise IdempotencyConflict("order-1", RunId("run_theirs"), "request")

    store, blobs = Late(InMemoryStore()), InMemoryBlobStore()
    with pytest.raises(IdempotencyConflict):
        await import_run(store, await with_key_and_blobs(), blobs=blobs)
    assert len((await blobs.list(None)).items) == 2


@pytest.mark.parametrize(
    ("method", "is_there"),
    [
        pytest.param("get_run", True, id="get_run, there"),
        pytest.param("read", True, id="read, there"),
        pytest.param("get_run", False, id="get_run, not there"),
        pytest.param("admit", False, id="admit, not there"),
        pytest.param("put_version", False, id="put_version, not there"),
    ],
)
async def test_a_purge_at_any_moment_leaves_the_whole_run_or_nothing(method: str, *, is_there: bool) -> None:
    exported, blobs = await with_key_and_blobs(), InMemoryBlobStore()
    store = Purged(method, 0, blobs)
    if is_there:
        await import_run(store, exported, blobs=blobs)
    store.left = 1
    assert await import_run(store, exported, blobs=blobs) == RUN
    assert not store.left
    assert await what_is_left(store, blobs) in {(1, 2), (0, 0)}


@pytest.mark.parametrize("key", [None, "order-1"])
@pytest.mark.parametrize("method", ["get_run", "put_version", "admit"])
async def test_another_import_that_was_purged_meanwhile_takes_no_blobs_with_it(
    key: str | None, method: str
) -> None:
    exported, blobs = await with_key_and_blobs(key), InMemoryBlobStore()

    async def comes_and_goes(store: Store) -> None:
        await import_run(store, exported, blobs=blobs)
        await purge(store, query=RunQuery(tenant="acme"), blobs=blobs)

    store = Beside(method, 1, comes_and_goes)
    assert await import_run(store, exported, blobs=blobs) == RUN
    assert (store.left, await what_is_left(store, blobs)) == (0, (1, 2))


async def test_a_run_that_is_purged_as_soon_as_it_came_leaves_no_blobs() -> None:
    class Looked(InMemoryBlobStore):
        """Whose Run is purged whenever somebody looks for a blob."""

        async def head(self, key: BlobKey) -> BlobMetadata | None:
            await purge(store, query=RunQuery(tenant="acme"), blobs=self)
            return await super().head(key)

    store, blobs = InMemoryStore(), Looked()
    assert await import_run(store, await with_key_and_blobs(), blobs=blobs) == RUN
    assert await what_is_left(store, blobs) == (0, 0)


class Brought(StoreProxy):
    """A store to which another import brings the Run right after somebody did not find it, while `is_due`."""

    def __init__(self, exported: list[bytes], blobs: InMemoryBlobStore) -> None:
        super().__init__(InMemoryStore())
        self.is_due, self._bring = False, partial(import_run, lines=exported, blobs=blobs)

    async def get_run(self, run_id: RunId) -> RunHeader:
        try:
            return await super().get_run(run_id)
        except RunNotFound:
            if self.is_due:
                self.is_due = False
                await self._bring(self._store)
            raise


async def test_what_an_import_of_a_purged_run_takes_back_another_has_not_lost() -> None:
    class Looked(InMemoryBlobStore):
        """Whose Run is purged, once, when somebody looks for a blob of it."""

        async def head(self, key: BlobKey) -> BlobMetadata | None:
            if not purged and await purge(store, query=RunQuery(tenant="acme"), blobs=self):
                purged.append(key)
                store.is_due = True
            return await super().head(key)

    exported, blobs, purged = await with_key_and_blobs(), Looked(), list[BlobKey]()
    store = Brought(exported, blobs)
    assert await import_run(store, exported, blobs=blobs) == RUN
    assert (len(purged), await what_is_left(store, blobs)) == (1, (1, 2))


async def test_what_a_refused_import_takes_back_another_has_not_lost() -> None:
    class Refusing(Brought):
        async def admit(self, *_: Any) -> Any:
            self.is_due = True
            raise IdempotencyConflict("order-1", RunId("run_theirs"), "request")

    exported, blobs = await with_key_and_blobs(), InMemoryBlobStore()
    store = Refusing(exported, blobs)
    with pytest.raises(IdempotencyConflict):
        await import_run(store, exported, blobs=blobs)
    assert await what_is_left(store, blobs) == (1, 2)


@pytest.mark.parametrize("first_is", ["whole", "redacted"])
async def test_of_two_logs_of_a_run_only_the_one_that_stands_has_blobs(first_is: str) -> None:
    whole_file = await with_key_and_blobs(None)
    redacted_file = await all_of(redacted(whole_file))
    mine, theirs = (whole_file, redacted_file) if first_is == "redacted" else (redacted_file, whole_file)
    blobs, alone = InMemoryBlobStore(), InMemoryBlobStore()
    await import_run(InMemoryStore(), theirs, blobs=alone)
    store = Beside("put_version", 1, partial(import_run, lines=theirs, blobs=blobs))
    with pytest.raises(LogConflict):
        await import_run(store, mine, blobs=blobs)
    assert await contents(blobs) == await contents(alone)


class Cut(Exception):
    """An import ends here, whatever was to come."""


CUTS = [*(("head", call) for call in range(1, 5)), ("put", 1), ("put", 2), ("admit", 1)]


class Cutting:
    """Cuts off the import that makes so many calls of one method."""

    def __init__(self, method: str, call: int) -> None:
        self.method, self.left = method, call

    def passes(self, method: str) -> None:
        if method == self.method:
            self.left -= 1
            if not self.left:
                raise Cut


class CutBlobs(InMemoryBlobStore):
    """An import is cut off before it does something here."""

    cutting = Cutting("", 0)

    async def head(self, key: BlobKey) -> BlobMetadata | None:
        self.cutting.passes("head")
        return await super().head(key)

    async def put(self, key: BlobKey, content: Any, **told: Any) -> BlobMetadata:
        self.cutting.passes("put")
        return await super().put(key, content, **told)


class CutStore(StoreProxy):
    """An import is cut off behind what it stores here."""

    cutting = Cutting("", 0)

    async def admit(self, header: RunHeader, entries: Any) -> Any:
        answer = await super().admit(header, entries)
        self.cutting.passes("admit")
        return answer


@pytest.mark.parametrize("is_purged", [False, True])
@pytest.mark.parametrize(("method", "call"), [*CUTS, ("admit", 2)])
async def test_an_import_that_was_cut_leaves_no_run_without_its_blobs_and_is_made_whole_by_another(
    method: str, call: int, *, is_purged: bool
) -> None:
    exported, blobs, alone = await with_key_and_blobs(), CutBlobs(), InMemoryBlobStore()
    await import_run(InMemoryStore(), exported, blobs=alone)
    store = CutStore(InMemoryStore())
    if is_purged:
        await import_run(store, exported, blobs=blobs)
        await purge(store, query=RunQuery(tenant="acme"), blobs=blobs)
    for key in await contents(alone):
        await blobs.put(key, b"of an earlier file", content_type="text/plain")
    blobs.cutting = store.cutting = Cutting(method, call)
    # Only where a key still answers for a purged Run it is admitted a second time.
    with pytest.raises(Cut) if is_purged or (method, call) in CUTS else nullcontext():
        await import_run(store, exported, blobs=blobs)
    if (await store.find_runs(RunQuery())).items:
        assert await contents(blobs) == await contents(alone)
    await import_run(store, exported, blobs=blobs)
    assert await contents(blobs) == await contents(alone)


async def test_a_run_that_is_purged_as_it_comes_comes_again_behind_its_blobs() -> None:
    class PurgedStore(CutStore):
        async def admit(self, header: RunHeader, entries: Any) -> Any:
            answer = await super().admit(header, entries)
            await purge(self._store, query=RunQuery(tenant="acme"), blobs=blobs)
            return answer

    exported, blobs = await with_key_and_blobs(), InMemoryBlobStore()
    store = PurgedStore(InMemoryStore())
    store.cutting = Cutting("admit", 2)
    with pytest.raises(Cut):
        await import_run(store, exported, blobs=blobs)
    assert await what_is_left(store, blobs) == (1, 2)


async def test_the_blobs_of_another_log_that_came_meanwhile_are_left_alone() -> None:
    exported = await with_key_and_blobs(None)
    others, before = await all_of(redacted(exported)), dict[BlobKey, bytes]()

    class Looked(InMemoryBlobStore):
        """Where another file of the Run is imported once all was looked for."""

        heads = 0

        async def head(self, key: BlobKey) -> BlobMetadata | None:
            self.heads += 1
            answer = await super().head(key)
            if self.heads == 2:
                await import_run(store, others, blobs=self)
                before.update(await contents(self))
            return answer

    store, blobs = InMemoryStore(), Looked()
    with pytest.raises(LogConflict):
        await import_run(store, exported, blobs=blobs)
    assert await contents(blobs) == before


@pytest.mark.parametrize(
    "other",
    [{"content": b"another"}, {"content_type": "image/png"}, {"metadata": {"place": "another"}}],
    ids=str,
)
async def test_a_blob_with_another_content_type_or_metadata_is_another(other: dict[str, Any]) -> None:
    exported, blobs, alone = await with_key_and_blobs(), InMemoryBlobStore(), InMemoryBlobStore()
    await import_run(InMemoryStore(), exported, blobs=alone)
    key, known = (await alone.list(None)).items[0]
    same = {"content": await alone.get(key), "content_type": known.content_type, "metadata": known.metadata}
    await blobs.put(key, **{**same, **other})
    await import_run(InMemoryStore(), exported, blobs=blobs)
    stands = await blobs.head(key)
    assert stands is not None
    assert known == stands.model_copy(update={"created_at": known.created_at})


async def test_a_damaged_blob_in_its_place_is_replaced() -> None:
    exported, inner = await with_key_and_blobs(), InMemoryBlobStore()
    await inner.put(BlobKey("acme", RUN, "call_0.1"), b"no seal", content_type=SEALED_TYPE)
    blobs = SealedBlobs(inner, SealingCodec())
    await import_run(InMemoryStore(), exported, blobs=blobs)
    assert await blobs.get(BlobKey("acme", RUN, "call_0.1")) == bytes(range(5))


async def test_blobs_that_do_not_stay_are_not_put_for_ever() -> None:
    class Forgetful(InMemoryBlobStore):
        puts = 0

        async def put(self, key: BlobKey, content: Any, **told: Any) -> BlobMetadata:
            self.puts += 1
            return await super().put(
                BlobKey(key.tenant, RunId("run_elsewhere"), key.call_id), content, **told
            )

    blobs = Forgetful()
    with pytest.raises(
        StoreError, match="the blobs of run_test do not stay as they were put; purge it and import it again"
    ):
        await import_run(InMemoryStore(), await with_key_and_blobs(), blobs=blobs)
    assert 2 < blobs.puts < 50


@pytest.mark.parametrize("key", [None, "order-1"])
@pytest.mark.parametrize("times", [1, 2, 3])
async def test_imports_beside_a_purge_leave_the_whole_run_or_nothing(key: str | None, times: int) -> None:
    exported, blobs = await with_key_and_blobs(key), InMemoryBlobStore()
    store = Beside("purge", times, partial(import_run, lines=exported, blobs=blobs))
    await import_run(store, exported, blobs=blobs)
    await purge(store, query=RunQuery(tenant="acme"), blobs=blobs)
    assert not store.left
    assert await what_is_left(store, blobs) in {(1, 2), (0, 0)}


async def test_an_erased_run_that_is_purged_right_after_it_came_is_erased_no_more() -> None:
    first, blobs = InMemoryStore(), InMemoryBlobStore()
    await kept(first, whole())
    await first.erase(RunQuery(run_ids=frozenset({RUN})))
    exported = await all_of(export_run(first, RUN))
    store = Purged("admit", 9, blobs)
    assert await import_run(store, exported, blobs=blobs) == RUN
    assert not (await store.find_runs(RunQuery())).items
