"""An export file that was cut or edited brings nothing in."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Any

import pytest

from packages.runtime.tests.api_scenes import RUN, VERSION, CountingStore
from packages.runtime.tests.export_scenes import all_of, kept, whole, with_blobs
from psych_runtime import (
    CorruptLog,
    InMemoryStore,
    RecordTooNew,
    RunQuery,
    Scope,
    export_run,
    import_run,
)
from psych_runtime.api import export_file
from psych_runtime.testing import HollowStore, LogBuilder
from psych_runtime_memory.blobs import InMemoryBlobStore


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


@pytest.mark.parametrize("last", [b'{"version":{}}', b'{"psych_export":2}', b'{"entry":{}}', b'{"run":{}}'])
async def test_a_file_with_another_end_was_edited_whatever_that_would_be_elsewhere(last: bytes) -> None:
    first = InMemoryStore()
    await kept(first, whole())
    exported = await all_of(export_run(first, RUN))
    with pytest.raises(CorruptLog, match="it is cut, or was edited"):
        await import_run(InMemoryStore(), [*exported, last])


@pytest.mark.parametrize("lines", [[], [b""], [b"\n"], [b"null\n"], [b"[]"], [b'{"run":{}}\n'], [b"\xff"]])
async def test_what_is_no_export_file_is_refused(lines: list[bytes]) -> None:
    with pytest.raises(CorruptLog):
        await import_run(InMemoryStore(), lines)


async def test_a_line_longer_than_any_is_refused() -> None:
    first = InMemoryStore()
    header = await kept(first, whole())
    exported = await all_of(export_run(first, RUN))
    for before in (exported, exported[:-1]):
        with pytest.raises(CorruptLog, match="at most") as refused:
            await import_run(InMemoryStore(), [*before, b" " * (export_file.MAX_LINE_BYTES + 1)])
        assert refused.value.seq == header.head.seq + 1


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
