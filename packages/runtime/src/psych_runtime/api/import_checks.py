"""What must hold of the Run in an export file before it is stored."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from psych_runtime.api.access import header_of
from psych_runtime_core.errors import CorruptionReason, CorruptLog, RunNotFound
from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.checks import check_commit
from psych_runtime_core.ports.runs import RunHeader
from psych_runtime_core.ports.store import Store
from psych_runtime_core.ports.writes import Admit
from psych_runtime_core.records import ClosedCodec, Entry, decode, verify
from psych_runtime_core.records.run import RunAdmitted
from psych_runtime_core.version import Version


def admission(header: RunHeader, versions: Sequence[Version], entries: Sequence[Entry]) -> Admit:
    """The write that stores a Run. It is nobody's, and was claimed as often as its log tells.

    What an erased Run says of a person is gone already; that it was erased is said again at the end. Raises
    `CorruptLog` unless header, log and Version are of one Run, and `RecordTooNew`.
    """
    if verify(entries, run_id=header.run_id) != header.head:
        raise wrong_log(header, len(entries), "its header says that its log ends otherwise")
    contradictions = _contradictions(header, versions, _begun(header, entries))
    for contradiction in contradictions:
        raise wrong_log(header, 1, contradiction)
    epoch = max(entry.epoch for entry in entries)
    write = Admit(header.model_copy(update={"erased": False, "epoch": epoch}), tuple(entries))
    try:
        check_commit([write])
    except ValueError as error:
        raise wrong_log(header, header.head.seq, str(error)) from error
    return write


def wrong_log(header: RunHeader, seq: int, detail: str) -> CorruptLog:
    """What is wrong at a place of the log of a file."""
    return CorruptLog(CorruptionReason.WRONG_LOG, header.run_id, seq, detail)


def _begun(header: RunHeader, entries: Sequence[Entry]) -> RunAdmitted:
    if entries:
        first = decode(entries[0], run_id=header.run_id, scope=header.scope, codec=ClosedCodec())
        if isinstance(first, RunAdmitted):
            return first
    raise wrong_log(header, 1, "its log does not begin with its admission")


def _contradictions(header: RunHeader, versions: Sequence[Version], begun: RunAdmitted) -> Iterator[str]:
    """What the header says otherwise than the admission, the Version, or itself."""
    said = (header.scope.tenant, header.version_hash, header.root_run_id)
    if said != (begun.scope.tenant, begun.version_hash, begun.root_run_id):
        yield "its header says another tenant, Version or root than its log"
    if header.version_hash not in {each.hash for each in versions}:
        yield f"the Version {header.version_hash} is not in the file"
    is_root = header.root_run_id == header.run_id
    if (header.parent_run_id is None, header.delegation_depth == 0) != (is_root, is_root):
        yield "its header says a root, a parent and a depth that no tree has"
    if header.run_id in {header.parent_run_id, header.continues_run_id}:
        yield "its header says that it is under itself, or after itself"


async def refuse_wrong_place(store: Store, header: RunHeader) -> None:
    """Raise `AccessDenied` for a Run under or after one of another tenant, `CorruptLog` for a wrong tree.

    What a header names and the store does not hold may come later, or have been purged.
    """
    if header.continues_run_id is not None:
        await _named(store, header, header.continues_run_id)
    if header.parent_run_id is None:
        return
    await _named(store, header, header.root_run_id)
    parent = await _named(store, header, header.parent_run_id)
    place = (header.root_run_id, header.delegation_depth - 1)
    if parent is not None and (parent.root_run_id, parent.delegation_depth) != place:
        raise wrong_log(header, 1, "its parent stands elsewhere than its header says")


async def _named(store: Store, header: RunHeader, run_id: RunId) -> RunHeader | None:
    try:
        return await header_of(store, run_id, header.scope)
    except RunNotFound:
        return None
