"""Whether a store takes a commit: each question is asked of all its writes before the next."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from psych_runtime_core.errors import (
    IdempotencyConflict,
    LeaseLost,
    RunAlreadySettled,
    RunNotFound,
    SeqConflict,
)
from psych_runtime_core.ports.header import allows
from psych_runtime_core.ports.runs import RunHeader
from psych_runtime_core.ports.writes import Admit, Append, Write

Met = Sequence[tuple[Write, RunHeader | None]]
"""Each write with the stored header of its Run, of an `Admit` also by its idempotency key."""


def has_landed(met: Met, now: datetime) -> bool:
    """True when this very commit is stored already, False when it is to be written.

    Raises `ValueError` for two tenants, else what `Store.commit` says.
    """
    _refuse_two_tenants(met)
    appends = _appends(met)
    # A commit is whole, so one log that ends with its batch tells of all.
    if any(_ends_with(write, header) for write, header in met):
        return True
    _refuse_appends(appends, now)
    _refuse_other_requests(met)
    return False


def _refuse_two_tenants(met: Met) -> None:
    stored = {header.scope.tenant for _, header in met if header}
    given = {write.header.scope.tenant for write, _ in met if isinstance(write, Admit)}
    if len(stored | given) > 1:
        raise ValueError("the writes of a commit are all of one tenant")


def _appends(met: Met) -> list[tuple[Append, RunHeader]]:
    appends: list[tuple[Append, RunHeader]] = []
    for write, header in met:
        if isinstance(write, Append):
            if header is None:
                raise RunNotFound(write.run_id)
            appends.append((write, header))
    return appends


def _ends_with(write: Write, header: RunHeader | None) -> bool:
    return (
        bool(write.entries)
        and header is not None
        and header.run_id == write.run_id
        and header.head == write.head
    )


def _refuse_appends(appends: Sequence[tuple[Append, RunHeader]], now: datetime) -> None:
    for write, header in appends:
        if write.lease and not allows(header, write, now):
            raise LeaseLost(write.run_id, write.lease.worker_id)
    for write, header in appends:
        if not write.lease and not allows(header, write, now):
            raise RunAlreadySettled(write.run_id)
    for write, header in appends:
        if header.head != write.after:
            raise SeqConflict(write.run_id, header.head)


def _refuse_other_requests(met: Met) -> None:
    for write, header in met:
        # What an erased Run was asked for is gone, so nothing can differ from it.
        if not isinstance(write, Admit) or header is None or header.erased:
            continue
        if header.request != write.header.request:
            key = write.header.idempotency_key or write.run_id
            raise IdempotencyConflict(key, header.run_id, "request")
