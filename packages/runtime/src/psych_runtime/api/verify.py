"""Whether a stored log is the one that was written."""

from __future__ import annotations

from dataclasses import dataclass

from psych_runtime.api.access import header_of, scope_of
from psych_runtime.api.arguments import identifier
from psych_runtime.api.log import LogReader
from psych_runtime_core.errors import CorruptionReason, CorruptLog
from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.runs import RunHeader
from psych_runtime_core.ports.store import Store
from psych_runtime_core.records import Entry
from psych_runtime_core.scope import Scope


@dataclass(frozen=True, slots=True)
class Verification:
    """A log whose chain holds: how many entries it has, and the digest (32 bytes) of the last one.

    Kept outside the store, the digest proves later that nothing up to there was changed.
    """

    run_id: RunId
    entries: int
    head_digest: bytes


async def verify(store: Store, run_id: RunId | str, *, scope: Scope | None = None) -> Verification:
    """Check every entry against the one before, and the header against the log. Needs no key.

    Raises `RunNotFound`, `AccessDenied`, and `CorruptLog` with the first seq that does not fit.
    """
    run, held = RunId(identifier("run_id", run_id)), scope_of(store, scope)
    header = await header_of(store, run, held)
    reader = LogReader(store, header)
    while page := await reader.page():
        _require_head(header, page)
    head = reader.head
    if head.seq < header.head.seq:
        detail = f"entry {head.seq + 1} is missing, the header says that the log ends with {header.head.seq}"
        raise CorruptLog(CorruptionReason.WRONG_LOG, run, head.seq + 1, detail)
    return Verification(run, head.seq, head.digest)


def _require_head(header: RunHeader, page: tuple[Entry, ...]) -> None:
    """The log may have grown since the header was read; where it ended then it still must lead."""
    for entry in page:
        if entry.seq == header.head.seq and entry.head != header.head:
            detail = "the header has another digest for this entry"
            raise CorruptLog(CorruptionReason.DIGEST_MISMATCH, header.run_id, entry.seq, detail)
