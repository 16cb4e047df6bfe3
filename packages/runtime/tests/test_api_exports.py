"""A Run leaves a store as a file and comes into another as it was, or not at all."""

from __future__ import annotations

import json
import tempfile
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
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
    RecordTooNew,
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
from psych_runtime.testing import FakeClock, HollowStore, LogBuilder, audit
from psych_runtime_memory.blobs import InMemoryBlobStore

Edit = Callable[[list[bytes]], list[bytes]]


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


# --- damage --------------------------------------------------------------------------------------------


def turned(line: bytes, at: int) -> bytes:
    """A line with one bit of it turned over."""
    return line[:at] + bytes([line[at] ^ 1]) + line[at + 1 :]


EDITS: dict[str, Callable[[list[bytes], int], list[bytes]]] = {
    "cut before": lambda lines, at: lines[:at],
    "cut inside": lambda lines, at: [*lines[:at], lines[at][: len(lines[at]) // 2]],
    "left out": lambda lines, at: [*lines[:at], *lines[at + 1 :]],
    "twice": lambda lines, at: [*lines[: at + 1], *lines[at:]],
    "a bit turned": lambda lines, at: [*lines[:at], turned(lines[at], len(lines[at]) // 2), *lines[at + 1 :]],
    "its first bit turned": lambda lines, at: [*lines[:at], turned(lines[at], 0), *lines[at + 1 :]],
    "a blank put in": lambda lines, at: [*lines[:at], b" " + lines[at], *lines[at + 1 :]],
    "an empty line before": lambda lines, at: [*lines[:at], b"\n", *lines[at:]],
    "its neighbour first": lambda lines, at: [*lines[:at], *reversed(lines[at : at + 2]), *lines[at + 2 :]],
}


@pytest.mark.parametrize("edit", EDITS)
async def test_a_file_that_was_cut_or_edited_imports_nothing(edit: str) -> None:
    first, second, blobs = InMemoryStore(), CountingStore(), InMemoryBlobStore()
    exported = await all_of(export_run(first, RUN, blobs=await with_blobs(await kept(first, whole()), 5, 0)))
    for at in range(len(exported)):
        damaged = EDITS[edit](exported, at)
        if damaged == exported:
            continue
        with pytest.raises(CorruptLog):
            await import_run(second, damaged, blobs=blobs)
    assert not second.calls
    assert not (await second.find_runs(RunQuery())).items
    assert not (await blobs.list(None)).items


async def test_a_file_that_was_cut_is_refused_at_the_first_entry_that_is_not_there() -> None:
    first = InMemoryStore()
    await kept(first, whole())
    exported = await all_of(export_run(first, RUN))
    begins = next(at for at, line in enumerate(exported) if line.startswith(b'{"entry":'))
    for at in range(begins, len(exported) - 1):
        for cut in (exported[:at], [*exported[:at], exported[at][:-9]]):
            with pytest.raises(CorruptLog) as refused:
                await import_run(InMemoryStore(), cut)
            assert refused.value.seq == at - begins + 1


async def test_a_line_behind_the_end_is_refused() -> None:
    first = InMemoryStore()
    await kept(first, whole())
    exported = await all_of(export_run(first, RUN))
    with pytest.raises(CorruptLog):
        await import_run(InMemoryStore(), [*exported, exported[1]])


@pytest.mark.parametrize("lines", [[], [b""], [b"\n"], [b"null\n"], [b"[]"], [b'{"run":{}}\n'], [b"\xff"]])
async def test_what_is_no_export_file_is_refused(lines: list[bytes]) -> None:
    with pytest.raises(CorruptLog):
        await import_run(InMemoryStore(), lines)


async def test_a_line_longer_than_any_is_refused() -> None:
    with pytest.raises(CorruptLog, match="at most"):
        await import_run(InMemoryStore(), [b" " * (export_file.MAX_LINE_BYTES + 1)])


async def test_a_file_of_a_newer_form_says_so() -> None:
    with pytest.raises(RecordTooNew):
        await import_run(InMemoryStore(), [b'{"psych_export":2,"redacted":false,"more":1}\n'])


async def test_lines_may_come_without_their_ends() -> None:
    first, second = InMemoryStore(), InMemoryStore()
    await kept(first, whole())
    exported = await all_of(export_run(first, RUN))

    async def stripped() -> AsyncIterator[bytes]:
        for line in exported:
            yield line.removesuffix(b"\n")

    await import_run(second, stripped())
    assert await all_of(export_run(second, RUN)) == exported


Item = export_file.Item


def forged(items: list[Item]) -> list[bytes]:
    """A file with a true last line, whatever it holds."""
    tally = export_file.Tally()
    return [*(tally.add(export_file.line_of(item)) for item in items), tally.end_line]


FORGERIES: dict[str, Callable[[LogBuilder], list[Item]]] = {
    "no run": lambda log: [VERSION, *log.entries()],
    "nothing at all": lambda log: [],
    "its run behind the Version": lambda log: [VERSION, log.header(), *log.entries()],
    "its run twice": lambda log: [log.header(), VERSION, *log.entries(), log.header()],
    "a second start": lambda log: [log.header(), VERSION, *log.entries(), export_file.Start()],
    "no Version": lambda log: [log.header(), *log.entries()],
    "no log": lambda log: [log.header(), VERSION],
    "a broken chain": lambda log: [log.header(), VERSION, *log.forge(3).entries()],
    "a missing entry": lambda log: [log.header(), VERSION, *log.entries()[:4], *log.entries()[5:]],
    "a log that goes on": lambda log: [log.header(head=log.entries()[3].head), VERSION, *log.entries()],
    "another tenant": lambda log: [log.header(scope=Scope(tenant="rival")), VERSION, *log.entries()],
    "another Version": lambda log: [log.header(version_hash="sha256:other"), VERSION, *log.entries()],
    "an end that is none": lambda log: [log.header(terminal=None, settled_at=None), VERSION, *log.entries()],
    "another run's log": lambda log: [
        log.header(run_id="run_other", root_run_id="run_other"),
        VERSION,
        *log.entries(),
    ],
}


@pytest.mark.parametrize(
    "claimed",
    [
        {"epoch": 2**63 - 1},
        {"epoch": 2**70},
        {"crashes": 2**63 - 1},
        {"ready_at": "2026-01-01T00:00:00+00:00"},
    ],
    ids=str,
)
async def test_a_file_says_nothing_of_who_held_its_run_and_when_it_is_due(claimed: dict[str, Any]) -> None:
    log, tally, store = whole(), export_file.Tally(), CountingStore()
    items: list[Item] = [export_file.Start(), log.header(), VERSION, *log.entries()]
    start, run, *rest = map(export_file.line_of, items)
    told = json.loads(run)
    told["run"] |= claimed
    lines = [tally.add(line) for line in (start, json.dumps(told).encode() + b"\n", *rest)]
    with pytest.raises(CorruptLog, match=next(iter(claimed))):
        await import_run(store, [*lines, tally.end_line])
    assert not store.calls


@pytest.mark.parametrize("forgery", FORGERIES)
async def test_a_file_that_contradicts_itself_imports_nothing(forgery: str) -> None:
    store = CountingStore()
    with pytest.raises(CorruptLog):
        await import_run(store, forged([export_file.Start(), *FORGERIES[forgery](whole())]))
    assert not store.calls


def piece(name: str = "call_1.1", offset: int = 0, **fields: Any) -> export_file.BlobPiece:
    given: dict[str, Any] = {"content_type": "text/plain", "metadata": {}, "data": b"abc", **fields}
    return export_file.BlobPiece(name, offset=offset, **given)


@pytest.mark.parametrize(
    "pieces",
    [
        pytest.param([piece(offset=3)], id="no beginning"),
        pytest.param([piece("call_0.1"), piece(), piece(offset=4)], id="a hole in the second"),
        pytest.param([piece(), piece("call_2.1"), piece()], id="one twice"),
        pytest.param([piece(), piece()], id="a piece twice"),
        pytest.param([piece("call_0.1"), piece("../up")], id="a name that leads elsewhere"),
        pytest.param([piece("call_0.1"), piece("")], id="no name"),
        pytest.param([piece("call_0.1"), piece(content_type="")], id="no content type"),
        pytest.param([piece("call_0.1"), piece(metadata={"a": "b" * 257})], id="metadata out of bounds"),
    ],
)
@pytest.mark.parametrize("with_blobs", [True, False], ids=["with a place for blobs", "with none"])
async def test_a_file_whose_blobs_are_not_sound_stores_none(pieces: list[Item], *, with_blobs: bool) -> None:
    log, store, blobs = whole(), CountingStore(), InMemoryBlobStore()
    items: list[Item] = [export_file.Start(), log.header(), VERSION, *log.entries(), *pieces]
    with pytest.raises(CorruptLog):
        await import_run(store, forged(items), blobs=blobs if with_blobs else None)
    assert not (await blobs.list(None)).items
    assert not store.calls


BREACHES: dict[str, Callable[[LogBuilder], LogBuilder]] = {
    "a gap": lambda log: log.drop(5),
    "another body": lambda log: log.forge(5),
    "an entry twice": lambda log: log.repeat(5),
    "two entries exchanged": lambda log: log.swap(4, 5),
}


@pytest.mark.parametrize("breach", BREACHES)
async def test_a_damaged_log_is_not_exported_whole(breach: str) -> None:
    store = HollowStore(BREACHES[breach](whole()).entries(), versions=[VERSION])
    with pytest.raises(CorruptLog):
        await all_of(export_run(store, RUN))


async def test_a_log_that_is_shorter_than_its_header_says_is_not_exported_whole() -> None:
    class Forgetful(HollowStore):
        async def get_run(self, run_id: Any) -> Any:
            header = await super().get_run(run_id)
            return header.model_copy(update={"head": replace(header.head, seq=header.head.seq + 1)})

    store = Forgetful(whole().entries(), versions=[VERSION])
    with pytest.raises(CorruptLog):
        await all_of(export_run(store, RUN))


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
