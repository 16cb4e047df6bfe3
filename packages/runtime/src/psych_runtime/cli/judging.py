"""Judges one log, of a store or of a file: its chain, what it folds to, and every rule of a log."""

from __future__ import annotations

from pathlib import Path

import psych_runtime
from psych_runtime.api.export_file import item_of
from psych_runtime.cli.documents import BadLog
from psych_runtime.cli.reading_files import lines_of
from psych_runtime.testing.auditor import audit
from psych_runtime_core.errors import CorruptionReason, CorruptLog, PsychError, RecordTooNew, VersionNotFound
from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.runs import RunHeader
from psych_runtime_core.ports.store import Store
from psych_runtime_core.records import GENESIS, Codec, Entry, Head, verify
from psych_runtime_memory import InMemoryBlobStore, InMemoryStore


async def judged(store: Store, header: RunHeader) -> BadLog | None:
    """What is wrong with the log of a Run; None of a sound one."""
    run_id = header.run_id
    try:
        entries = await _entries(store, header)
        version = await store.get_version(header.version_hash)
        await store.codec.prepare(header.scope)
        findings = audit(entries, header=header, spec=version.spec, codec=store.codec)
    except CorruptLog as error:
        return BadLog(run_id, error.seq, error.reason.value, error.detail)
    except RecordTooNew as error:
        return BadLog(run_id, error.seq, "record_too_new", str(error))
    except VersionNotFound as error:
        return BadLog(run_id, 1, "version_not_found", str(error))
    first = min(findings, key=lambda finding: finding.seq, default=None)
    return None if first is None else BadLog(run_id, first.seq, first.code, first.message)


async def judged_file(path: Path, codec: Codec) -> BadLog | None:
    """What is wrong with an exported file and the log in it. Raises `OSError` for one that cannot be read."""
    store = InMemoryStore(codec=codec)
    try:
        run_id = await psych_runtime.import_run(store, lines_of(path), blobs=InMemoryBlobStore())
    except CorruptLog as error:
        return _first_fault(path, error)
    except RecordTooNew as error:
        return BadLog(str(path), error.seq, "record_too_new", str(error))
    except (PsychError, ValueError) as error:
        return BadLog(str(path), 1, "wrong_log", str(error))
    return await judged(store, await store.get_run(run_id))


async def _entries(store: Store, header: RunHeader) -> list[Entry]:
    """The log as far as the header tells of it, its chain verified."""
    head, entries = GENESIS, list[Entry]()
    while head.seq < header.head.seq and (page := await store.read(header.run_id, head.seq)):
        head = verify(page, run_id=header.run_id, after=head)
        entries += page
    return entries[: header.head.seq]


def _first_fault(path: Path, refusal: CorruptLog) -> BadLog:
    """Where the chain breaks in a file that is not as it was written; else where it ends and must go on."""
    run_id, head = RunId(str(path)), GENESIS
    try:
        for line in lines_of(path):
            run_id, head = _followed(line, run_id, head)
    except CorruptLog as error:
        return BadLog(run_id, error.seq, error.reason.value, error.detail)
    return BadLog(run_id, head.seq + 1, refusal.reason.value, refusal.detail)


def _followed(line: bytes, run_id: RunId, head: Head) -> tuple[RunId, Head]:
    """The Run and its head behind a line."""
    try:
        item = None if line.startswith(b'{"end":') else item_of(line)
    except (ValueError, PsychError) as error:
        detail = f"the line behind it cannot be read: {error}"
        raise CorruptLog(CorruptionReason.UNREADABLE_BODY, run_id, head.seq + 1, detail) from error
    if isinstance(item, RunHeader):
        return item.run_id, head
    if isinstance(item, Entry):
        return run_id, verify([item], run_id=run_id, after=head)
    return run_id, head
