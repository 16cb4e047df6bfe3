"""A Run leaves a store as a file and comes into another as it was, or not at all."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packages.runtime.tests.api_scenes import ACME, RIVAL, RUN, SPEC, STORES, VERSION, CountingStore, opened
from packages.runtime.tests.export_scenes import all_of, kept, logs, whole, with_blobs
from psych_runtime import (
    MAX_COMMIT_BYTES,
    AccessDenied,
    BlobKey,
    CorruptLog,
    IdempotencyConflict,
    InMemoryStore,
    RunQuery,
    Scope,
    Store,
    TerminalState,
    WorkerId,
    dispatch,
    export_run,
    import_run,
    interrupt,
    purge,
    records,
    scoped,
    verify,
)
from psych_runtime.api import export_file
from psych_runtime.testing import FakeClock, LogBuilder, audit
from psych_runtime_memory.blobs import InMemoryBlobStore


@settings(max_examples=40, deadline=None)
@given(log=logs(), kind=st.sampled_from(STORES), crashes=st.integers(0, 3), priority=st.integers(-100, 100))
def test_export_import_export_is_equal_to_the_byte(
    log: LogBuilder, kind: str, crashes: int, priority: int
) -> None:
    async def compare() -> None:
        first, other = InMemoryStore(clock=FakeClock()), tempfile.TemporaryDirectory()
        with other as folder:
            async with opened(kind, Path(folder), FakeClock()) as second:
                keyed = log.edit(1, idempotency_key="k")
                await kept(first, keyed, idempotency_key="k", crashes=crashes, priority=priority)
                exported = await all_of(export_run(first, log.run_id))
                assert await import_run(second, exported) == log.run_id
                assert await all_of(export_run(second, log.run_id)) == exported
                assert await second.read(log.run_id) == log.entries()

    anyio.run(compare)


@pytest.mark.parametrize("kind", STORES)
async def test_blobs_go_with_their_run(kind: str, tmp_path: Path) -> None:
    first, taken = InMemoryStore(), InMemoryBlobStore()
    blobs = await with_blobs(await kept(first, whole()), 0, 5, export_file.BLOB_PIECE_BYTES + 3)
    exported = await all_of(export_run(first, RUN, blobs=blobs))
    assert max(map(len, exported)) <= export_file.MAX_LINE_BYTES
    async with opened(kind, tmp_path) as second:
        await import_run(second, exported, blobs=taken)
        assert await all_of(export_run(second, RUN, blobs=taken)) == exported
    found = (await taken.list(None)).items
    assert [(key, known.size, known.metadata) for key, known in found] == [
        (BlobKey("acme", RUN, f"call_{place}.1"), size, {"place": str(place)})
        for place, size in enumerate([0, 5, export_file.BLOB_PIECE_BYTES + 3])
    ]


async def test_a_file_with_blobs_needs_a_place_for_them() -> None:
    first, second = InMemoryStore(), InMemoryStore()
    blobs = await with_blobs(await kept(first, whole()), 5)
    with pytest.raises(ValueError, match="blobs="):
        await import_run(second, export_run(first, RUN, blobs=blobs))
    assert not (await second.find_runs(RunQuery())).items


async def test_a_file_says_what_it_is_and_holds_each_thing_once() -> None:
    store = InMemoryStore()
    await kept(store, whole())
    exported = await all_of(export_run(store, RUN))
    assert exported[0] == b'{"psych_export":1,"redacted":false}\n'
    kinds = [line[2 : line.index(b'"', 2)].decode() for line in exported[1:]]
    assert kinds == ["run", "version", *["entry"] * len(whole().entries()), "end"]
    assert exported[-1].startswith(b'{"end":{"entries":%d,"sha256":"' % len(whole().entries()))
    assert all(line.endswith(b"\n") and b"\n" not in line[:-1] for line in exported)


async def test_a_longer_log_is_read_page_by_page(monkeypatch: pytest.MonkeyPatch) -> None:
    store = CountingStore()
    await kept(store, whole())
    monkeypatch.setattr("psych_runtime.api.export_run.PAGE", 4)
    store.calls.clear()
    lines = export_run(store, RUN)
    for _ in range(4):
        await anext(lines)
    assert store.entries_read == 4
    rest = await all_of(lines)
    assert len(rest) == len(whole().entries())


@pytest.mark.parametrize("kind", STORES)
async def test_a_log_longer_than_a_commit_goes_and_comes(kind: str, tmp_path: Path) -> None:
    first, log = InMemoryStore(), LogBuilder(scope=ACME, version_hash=VERSION.hash).admitted().attempt()
    for turn in range(6):
        log.call("act", {"turn": turn}, "x" * 3_500_000)
    await kept(first, log)
    assert sum(len(entry.body) for entry in log.entries()) > MAX_COMMIT_BYTES
    exported = await all_of(export_run(first, RUN))
    async with opened(kind, tmp_path) as second:
        await import_run(second, exported)
        assert await all_of(export_run(second, RUN)) == exported


async def test_of_a_run_that_goes_on_a_file_holds_what_was_there() -> None:
    first, second = InMemoryStore(clock=FakeClock()), InMemoryStore(clock=FakeClock())
    run_id = (await dispatch(first, SPEC, ACME, input="hello")).run_id
    lines = export_run(first, run_id)
    before = [await anext(lines), await anext(lines)]
    await interrupt(first, run_id)
    exported = before + await all_of(lines)
    await import_run(second, exported)
    assert [record.type for record in await records(second, run_id)] == ["run_admitted"]


async def test_a_run_with_blobs_leaves_with_them_or_not_at_all() -> None:
    store = InMemoryStore()
    blobs = await with_blobs(await kept(store, whole(), blobs=True), 3)
    for held in (store, scoped(store, ACME)):
        with pytest.raises(ValueError, match="the log of run_test names blobs; give blobs="):
            await all_of(export_run(held, RUN))
    assert await all_of(export_run(scoped(store, ACME), RUN, blobs=blobs)) == await all_of(
        export_run(store, RUN, blobs=blobs)
    )


# --- what an import keeps, and what it leaves to others ----------------------------------------------------


async def test_an_open_run_rests_until_somebody_wakes_it() -> None:
    first, second = InMemoryStore(clock=FakeClock()), InMemoryStore(clock=FakeClock())
    run_id = (await dispatch(first, SPEC, ACME, input="hello", priority=7)).run_id
    (claim,) = (await first.claim(WorkerId("w"))).claims
    await import_run(second, await all_of(export_run(first, run_id)))
    header = await second.get_run(run_id)
    assert (header.epoch, header.priority, header.ready_at, header.lease) == (0, 7, None, None)
    assert not (await second.claim(WorkerId("w"))).claims
    await interrupt(second, run_id)
    (claim,) = (await second.claim(WorkerId("w"))).claims
    assert (claim.lease.epoch, claim.reclaimed) == (1, False)


async def test_a_key_answers_for_an_imported_run() -> None:
    first, second = InMemoryStore(), InMemoryStore()
    given: dict[str, Any] = {"input": "hello", "idempotency_key": "order-1"}
    run_id = (await dispatch(first, SPEC, ACME, **given)).run_id
    await import_run(second, await all_of(export_run(first, run_id)))
    again = await dispatch(second, SPEC, ACME, **given)
    assert (again.run_id, again.created) == (run_id, False)
    with pytest.raises(IdempotencyConflict):
        await dispatch(second, SPEC, ACME, idempotency_key="order-1", input="bye")


async def test_a_key_of_another_run_is_a_conflict_and_nothing_is_written() -> None:
    first, second = InMemoryStore(), InMemoryStore()
    given: dict[str, Any] = {"input": "hello", "idempotency_key": "order-1"}
    header = await first.get_run((await dispatch(first, SPEC, ACME, **given)).run_id)
    exported = await all_of(export_run(first, header.run_id, blobs=await with_blobs(header, 5)))
    theirs, blobs = (await dispatch(second, SPEC, ACME, **given)).run_id, InMemoryBlobStore()
    with pytest.raises(IdempotencyConflict) as refused:
        await import_run(second, exported, blobs=blobs)
    assert not (await blobs.list(None)).items
    assert (refused.value.run_id, refused.value.key) == (theirs, "order-1")
    assert [header.run_id for header in (await second.find_runs(RunQuery())).items] == [theirs]


@pytest.mark.parametrize("kind", STORES)
async def test_a_run_that_was_purged_comes_back(kind: str, tmp_path: Path) -> None:
    async with opened(kind, tmp_path) as store:
        log = whole().edit(1, idempotency_key="order-1")
        await kept(store, log, idempotency_key="order-1")
        exported = await all_of(export_run(store, RUN))
        assert await purge(store, query=RunQuery(run_ids=frozenset({RUN}))) == 1
        await import_run(store, exported)
        assert (await verify(store, RUN)).entries == len(log.entries())


@pytest.mark.parametrize("kind", STORES)
async def test_an_erased_run_is_imported_as_erased(kind: str, tmp_path: Path) -> None:
    first = InMemoryStore()
    await kept(first, whole(scope=Scope(tenant="acme", principal="ada", labels={"a": "b"})))
    await first.erase(RunQuery(run_ids=frozenset({RUN})))
    exported = await all_of(export_run(first, RUN))
    assert not any(b'"principal":"ada"' in line for line in exported)
    async with opened(kind, tmp_path) as second:
        await import_run(second, exported)
        assert (await second.get_run(RUN)).erased
        assert await all_of(export_run(second, RUN)) == exported


async def test_the_file_of_an_erased_run_erases_nothing_that_is_there() -> None:
    first, second = InMemoryStore(), InMemoryStore()
    for store in (first, second):
        await kept(store, whole(), request=b"r" * 32)
    await first.erase(RunQuery(run_ids=frozenset({RUN})))
    before = await second.get_run(RUN)
    await import_run(second, export_run(first, RUN))
    assert await second.get_run(RUN) == before


async def test_what_is_there_already_stays_as_it_is() -> None:
    store = CountingStore()
    run_id = (await dispatch(store, SPEC, ACME, input="hello")).run_id
    exported = await all_of(export_run(store, run_id))
    await interrupt(store, run_id)
    before = await store.get_run(run_id)
    store.calls.clear()
    assert await import_run(store, exported) == run_id
    assert await import_run(store, await all_of(export_run(store, run_id))) == run_id
    assert await store.get_run(run_id) == before
    assert set(store.calls) <= {"get_run", "read"}


@pytest.mark.parametrize("turns", [0, 20])
async def test_another_log_of_the_same_id_is_refused(turns: int) -> None:
    first, second = InMemoryStore(), InMemoryStore()
    await kept(first, whole())
    other = LogBuilder(version_hash=VERSION.hash, scope=ACME).admitted({"message": "other"}).attempt()
    for _ in range(turns):
        other.call("act", {})
    await kept(second, other)
    before = await second.get_run(RUN)
    with pytest.raises(CorruptLog, match="another log"):
        await import_run(second, export_run(first, RUN))
    assert await second.get_run(RUN) == before


# --- tenants -------------------------------------------------------------------------------------------


def by_scope(store: Store, scope: Scope) -> tuple[Store, dict[str, Any]]:
    return store, {"scope": scope}


def by_view(store: Store, scope: Scope) -> tuple[Store, dict[str, Any]]:
    return scoped(store, scope), {}


WAYS = pytest.mark.parametrize("way", [by_scope, by_view])


@WAYS
async def test_another_tenants_run_is_neither_exported_nor_imported(way: Callable[..., Any]) -> None:
    first, second = CountingStore(), CountingStore()
    await kept(first, whole())
    exported = await all_of(export_run(first, RUN))
    first.calls.clear()
    store, given = way(first, RIVAL)
    with pytest.raises(AccessDenied):
        await anext(export_run(store, RUN, **given))
    assert set(first.calls) <= {"get_run"}
    store, given = way(second, RIVAL)
    with pytest.raises(AccessDenied):
        await import_run(store, exported, **given)
    assert not second.calls


@WAYS
async def test_of_another_tenants_run_of_this_id_nothing_is_read(way: Callable[..., Any]) -> None:
    first, second = InMemoryStore(), CountingStore()
    await kept(first, whole())
    await kept(second, whole(scope=RIVAL))
    store, given = way(second, ACME)
    with pytest.raises(AccessDenied):
        await import_run(store, export_run(first, RUN), **given)
    assert set(second.calls) == {"admit", "get_run"}
    assert second.calls["admit"] == 1, "only that of the test"


@WAYS
async def test_the_tenants_own_run_goes_and_comes(way: Callable[..., Any]) -> None:
    first, second = InMemoryStore(), InMemoryStore()
    await kept(first, whole())
    store, given = way(first, ACME)
    exported = await all_of(export_run(store, RUN, **given))
    store, given = way(second, ACME)
    assert await import_run(store, exported, **given) == RUN
    assert (await second.get_run(RUN)).terminal is TerminalState.COMPLETED


async def test_an_imported_log_is_a_sound_one() -> None:
    first, second = InMemoryStore(), InMemoryStore()
    await kept(first, whole())
    await import_run(second, export_run(first, RUN))
    assert audit(await second.read(RUN), header=await second.get_run(RUN), spec=SPEC) == ()
