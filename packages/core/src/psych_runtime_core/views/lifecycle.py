"""A Run's life in one word."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from psych_runtime_core.ports.store import RunHeader
from psych_runtime_core.records.facts import TerminalState
from psych_runtime_core.state.run import RunStateView


class Lifecycle(StrEnum):
    """A Run's life in one word, for people."""

    QUEUED = "queued"
    RUNNING = "running"
    WAITING = "waiting"
    STOPPING = "stopping"
    DONE = "done"
    FAILED = "failed"
    STOPPED = "stopped"


SETTLED_LIFECYCLE: Mapping[TerminalState, Lifecycle] = {
    TerminalState.COMPLETED: Lifecycle.DONE,
    TerminalState.FAILED: Lifecycle.FAILED,
    TerminalState.ABORTED: Lifecycle.STOPPED,
    TerminalState.ABANDONED: Lifecycle.STOPPED,
    TerminalState.FORCE_SETTLED: Lifecycle.STOPPED,
}


def lifecycle_of(state: RunStateView) -> Lifecycle:
    """The Run's life, from its folded log."""
    return _lifecycle(state.terminal_state, state.aborted, state.parked, state.attempt_count)


def lifecycle_of_header(header: RunHeader) -> Lifecycle:
    """The same from its header alone."""
    return _lifecycle(header.terminal, header.stopping, header.parked, header.attempt_count)


def _lifecycle(terminal: TerminalState | None, stopping: bool, parked: bool, attempt_count: int) -> Lifecycle:
    if terminal is not None:
        return SETTLED_LIFECYCLE[terminal]
    if stopping:
        return Lifecycle.STOPPING
    if parked:
        return Lifecycle.WAITING
    return Lifecycle.RUNNING if attempt_count else Lifecycle.QUEUED
