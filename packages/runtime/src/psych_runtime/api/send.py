"""Messages to a Run that is under way, and the request to stop it. Both decide from its header."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace

from psych_runtime.api.access import author, header_of, scope_of
from psych_runtime.api.arguments import Spoken, accepted, identifier, of_kind, short_text, spoken
from psych_runtime.api.external import land, stamped, waking
from psych_runtime.api.log import LogReader
from psych_runtime_core.errors import QueueFull, RunAlreadySettled
from psych_runtime_core.ids import RunId, derive_entry_id
from psych_runtime_core.jsonvalue import Json
from psych_runtime_core.ports.runs import RunHeader
from psych_runtime_core.ports.store import Store
from psych_runtime_core.ports.writes import Append
from psych_runtime_core.records.facts import QueueKind
from psych_runtime_core.records.queue import QueueEnqueued
from psych_runtime_core.records.run import AbortRequested
from psych_runtime_core.scope import Scope
from psych_runtime_core.spoken import content_of_input

MAX_PENDING = 1_000
MAX_REASON = 1_024


async def send(  # noqa: PLR0913 - the options of a public call
    store: Store,
    run_id: RunId | str,
    *,
    message: Spoken,
    queue: QueueKind | str = QueueKind.STEER,
    key: str | None = None,
    by: str | None = None,
    scope: Scope | None = None,
) -> str:
    """Give a Run a message and return the id of its entry. It is read exactly once.

    `message` is a text, parts, or a JSON object, of at most 256 KiB. `steer` is read at the next turn,
    `follow_up` when the agent would finish. Sending again with one `key` gives the same id and no second
    entry; the log is looked through for it.

    Raises `RunAlreadySettled` when the Run is settled or stopping, `QueueFull` at 1 000 pending messages,
    `RunNotFound`, `AccessDenied`, `EntryTooLarge`, and `ValueError` for a part that the Spec's model does not
    accept. An error means that nothing was written.
    """
    run, held = RunId(identifier("run_id", run_id)), scope_of(store, scope)
    record = QueueEnqueued(
        entry_id=_entry_id(run, key),
        queue=_kind(queue),
        payload=_message(message),
        sent_by=author(by, held),
    )
    sought = _Sought(store, record.entry_id)

    async def decide() -> Append | None:
        header = await header_of(store, run, held)
        if key is not None and await sought.is_in(header):
            return None
        if header.terminal is not None or header.stopping:
            raise RunAlreadySettled(run)
        await _check_accepted(store, header, record)
        if header.pending >= MAX_PENDING:
            raise QueueFull(run, header.pending)
        records = stamped(store, header, header.head.seq, [record])
        facts = replace(header.facts, pending=header.pending + 1)
        return await waking(store, header, header.head, records, facts)

    await land(store, decide)
    return record.entry_id


async def _check_accepted(store: Store, header: RunHeader, record: QueueEnqueued) -> None:
    """A text costs no look at the Version."""
    if not isinstance(content_of_input(record.payload), str):
        accepted("message", record.payload, (await store.get_version(header.version_hash)).spec)


async def interrupt(
    store: Store, run_id: RunId | str, *, reason: str = "", by: str | None = None, scope: Scope | None = None
) -> None:
    """Ask a Run to stop. Nothing of it begins any more; a Run that is stopping or settled stays as it is.

    `reason` has at most 1 024 characters. Raises `RunNotFound`, `AccessDenied`.
    """
    run, held = RunId(identifier("run_id", run_id)), scope_of(store, scope)
    record = AbortRequested(reason=short_text("reason", reason, MAX_REASON), requested_by=author(by, held))

    async def decide() -> Append | None:
        header = await header_of(store, run, held)
        if header.terminal is not None or header.stopping:
            return None
        records = stamped(store, header, header.head.seq, [record])
        facts = replace(header.facts, stopping=True)
        return await waking(store, header, header.head, records, facts)

    with suppress(RunAlreadySettled):
        await land(store, decide)


class _Sought:
    """Whether a message of some id was sent: each entry of the log is looked at once."""

    def __init__(self, store: Store, entry_id: str) -> None:
        self._store, self._entry_id = store, entry_id
        self._reader: LogReader | None = None

    async def is_in(self, header: RunHeader) -> bool:
        if self._reader is None:
            await self._store.codec.prepare(header.scope)
            self._reader = LogReader(self._store, header)
        while page := await self._reader.page():
            for entry in page:
                if entry.type == "queue_enqueued":
                    record = self._reader.decoded(entry)
                    if isinstance(record, QueueEnqueued) and record.entry_id == self._entry_id:
                        return True
        return False


def _entry_id(run_id: RunId, key: str | None) -> str:
    return f"qe_{secrets.token_hex(18)}" if key is None else derive_entry_id(run_id, identifier("key", key))


def _kind(queue: QueueKind | str) -> QueueKind:
    word = of_kind("queue", queue, str)
    try:
        return QueueKind(word)
    except ValueError:
        raise ValueError(f"queue is {word!r}; give {' or '.join(QueueKind)}") from None


def _message(message: Spoken) -> Mapping[str, Json]:
    payload = spoken("message", message)
    if not message:
        raise ValueError("message is empty; give a text or a JSON object that says something")
    return payload
