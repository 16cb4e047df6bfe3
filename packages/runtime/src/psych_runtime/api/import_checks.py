"""What must hold of the Run in an export file before it is stored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from psych_runtime.api.access import header_of
from psych_runtime_core.errors import CorruptionReason, CorruptLog, RunNotFound
from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.checks import check_commit
from psych_runtime_core.ports.header import scrubbed
from psych_runtime_core.ports.runs import RunHeader
from psych_runtime_core.ports.store import Store
from psych_runtime_core.ports.writes import Admit
from psych_runtime_core.records import ClosedCodec, Entry, decode, verify
from psych_runtime_core.records.run import RunAdmitted
from psych_runtime_core.state.fold import apply, empty
from psych_runtime_core.state.implied import implied_by
from psych_runtime_core.version import Version


def admission(header: RunHeader, versions: Sequence[Version], entries: Sequence[Entry]) -> Admit:
    """The write that stores a Run. It is nobody's, and was claimed as often as its log tells.

    What an erased Run says of a person is gone already; that it was erased is said again at the end. Raises
    `CorruptLog` unless header, log and Version are of one Run and the log folds, and `RecordTooNew`.
    """
    verify(entries, run_id=header.run_id)
    for contradiction in _contradictions(header, versions, _told(header, entries)):
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


@dataclass(frozen=True, slots=True)
class _Told:
    """What a log tells of its Run, sealed or not: how it began, and what its header must say."""

    begun: RunAdmitted
    implied: Mapping[str, object]


def _told(header: RunHeader, entries: Sequence[Entry]) -> _Told:
    state, begun, last = empty(header.run_id), None, None
    for entry in entries:
        last = decode(entry, run_id=header.run_id, scope=header.scope, codec=ClosedCodec())
        begun = begun or last
        if not isinstance(begun, RunAdmitted):
            break
        apply(state, last)
    if not isinstance(begun, RunAdmitted):
        raise wrong_log(header, 1, "its log does not begin with its admission")
    return _Told(begun, implied_by(entries, last, state))


def _contradictions(header: RunHeader, versions: Sequence[Version], told: _Told) -> Iterator[str]:
    """What the header says otherwise than the log, the Version, or itself."""
    others = {name for name, implied in told.implied.items() if getattr(header, name) != implied}
    if others:
        yield f"its log says otherwise than its header: {', '.join(sorted(others))}"
    if header.erased and not _is_scrubbed(header):
        yield "its header says that it was erased, and of whom it is"
    if not _is_of(header, told.begun):
        yield "its header says that it is another's, or was begun with another key, than its log"
    yield from _strange_version(header, versions)
    is_root = header.root_run_id == header.run_id
    if (header.parent_run_id is None, header.delegation_depth == 0) != (is_root, is_root):
        yield "its header says a root, a parent and a depth that no tree has"
    if header.run_id in {header.parent_run_id, header.continues_run_id}:
        yield "its header says that it is under itself, or after itself"


def _is_of(header: RunHeader, begun: RunAdmitted) -> bool:
    """Whether the header names whom and which key the admission names, as far as that one can be read.

    A Run that came back after it was purged has no key.
    """
    if header.erased or begun.erased:
        return header.scope.tenant == begun.scope.tenant
    return header.scope == begun.scope and header.idempotency_key in {None, begun.idempotency_key}


def _is_scrubbed(header: RunHeader) -> bool:
    """Whether it was settled, and names nobody."""
    return header.terminal is not None and header == scrubbed(header)


def _strange_version(header: RunHeader, versions: Sequence[Version]) -> Iterator[str]:
    version = next((each for each in versions if each.hash == header.version_hash), None)
    if version is None:
        yield f"the Version {header.version_hash} is not in the file"
    elif header.name != version.name:
        yield "its header says another name than its Version"


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
