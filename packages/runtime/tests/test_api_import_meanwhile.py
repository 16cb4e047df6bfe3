"""What others do to a Run, its key and its blobs while it is imported."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import pytest

from packages.core.tests.codecs import SealingCodec
from packages.runtime.tests.api_scenes import ACME, RUN, STORES, VERSION, opened
from packages.runtime.tests.export_scenes import all_of, kept, whole, with_blobs
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

T = TypeVar("T")


async def with_key_and_blobs(key: str | None = "order-1") -> list[bytes]:
    """The file of a Run with a key and two blobs."""
    log, first = whole().edit(1, idempotency_key=key), InMemoryStore()
    blobs = await with_blobs(await kept(first, log, idempotency_key=key), 5, 0)
    return await all_of(export_run(first, RUN, blobs=blobs))


class Beside(StoreProxy):
    """A store on which somebody else does something, behind each call of one method while `left`."""

    def __init__(self, method: str, left: int, doing: Callable[[Store], Awaitable[object]]) -> None:
        super().__init__(InMemoryStore())
        self.method, self.left, self.doing = method, left, doing

    async def _through(self, name: str, call: Callable[[], Awaitable[T]]) -> T:
        answer = await super()._through(name, call)
        if name == self.method and self.left:
            self.left -= 1
            await self.doing(self._store)
        return answer


class Purged(Beside):
    """Purges, with the blobs, behind so many of the calls of one method."""

    def __init__(self, method: str, calls: int, blobs: InMemoryBlobStore) -> None:
        super().__init__(method, calls, partial(purge, query=RunQuery(tenant="acme"), blobs=blobs))


async def what_is_left(store: Store, blobs: InMemoryBlobStore) -> tuple[int, int]:
    """How many Runs and blobs."""
    return len((await store.find_runs(RunQuery())).items), len((await blobs.list(None)).items)


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


async def contents(blobs: InMemoryBlobStore) -> dict[BlobKey, bytes]:
    return {key: await blobs.get(key) for key, _ in (await blobs.list(None)).items}


class Cut(Exception):
    """An import ends here, whatever was to come."""


@pytest.mark.parametrize("call", range(1, 7))
@pytest.mark.parametrize("method", ["head", "put", "admit"])
async def test_an_import_that_was_cut_leaves_no_run_without_its_blobs_and_is_made_whole_by_another(
    method: str, call: int
) -> None:
    left = 0

    def is_due(name: str) -> bool:
        nonlocal left
        left -= name == method
        return name == method and not left

    class CutBlobs(InMemoryBlobStore):
        async def head(self, key: BlobKey) -> BlobMetadata | None:
            if is_due("head"):
                raise Cut
            return await super().head(key)

        async def put(self, key: BlobKey, content: Any, **told: Any) -> BlobMetadata:
            if is_due("put"):
                raise Cut
            return await super().put(key, content, **told)

    class CutStore(StoreProxy):
        """Which stores a Run, and is cut off."""

        async def admit(self, header: RunHeader, entries: Any) -> Any:
            answer = await super().admit(header, entries)
            if is_due("admit"):
                raise Cut
            return answer

    exported, blobs, alone = await with_key_and_blobs(), CutBlobs(), InMemoryBlobStore()
    await import_run(InMemoryStore(), exported, blobs=alone)
    for key in await contents(alone):
        await blobs.put(key, b"of an earlier file", content_type="text/plain")
    left, store = call, CutStore(InMemoryStore())
    with suppress(Cut):
        await import_run(store, exported, blobs=blobs)
    if (await store.find_runs(RunQuery())).items:
        assert await contents(blobs) == await contents(alone)
    left = 0
    await import_run(store, exported, blobs=blobs)
    assert await contents(blobs) == await contents(alone)


async def test_a_blob_of_another_type_or_metadata_is_another() -> None:
    exported, blobs, alone = await with_key_and_blobs(), InMemoryBlobStore(), InMemoryBlobStore()
    await import_run(InMemoryStore(), exported, blobs=alone)
    first, second = (await alone.list(None)).items
    await blobs.put(first[0], await alone.get(first[0]), content_type="image/png")
    await blobs.put(second[0], b"", content_type=second[1].content_type, metadata={"name": "another"})
    await import_run(InMemoryStore(), exported, blobs=blobs)
    for key, known in (first, second):
        stands = await blobs.head(key)
        assert stands is not None
        assert (stands.content_type, stands.metadata) == (known.content_type, known.metadata)


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


async def test_a_run_that_is_purged_while_it_gets_its_blobs_leaves_none() -> None:
    exported, blobs = await with_key_and_blobs(), InMemoryBlobStore()
    store = Purged("read", 0, blobs)
    await import_run(store, exported, blobs=blobs)
    await blobs.delete_run("acme", RUN)
    store.left = 1
    await import_run(store, exported, blobs=blobs)
    assert await what_is_left(store, blobs) == (0, 0)


async def test_an_older_copy_of_a_run_is_named_as_one() -> None:
    store, first = InMemoryStore(), InMemoryStore()
    await kept(first, whole())
    exported = await all_of(export_run(first, RUN))
    log = LogBuilder(RUN, scope=ACME, version_hash=VERSION.hash).admitted()
    await kept(store, log)
    with pytest.raises(LogConflict, match="an older copy of it is stored here, which ends with entry 1;"):
        await import_run(store, exported)


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
