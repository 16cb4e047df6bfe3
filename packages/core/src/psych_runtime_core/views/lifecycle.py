"""A Run's life in one word."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

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
    if state.terminal_state is not None:
        return SETTLED_LIFECYCLE[state.terminal_state]
    if state.aborted:
        return Lifecycle.STOPPING
    if state.parked:
        return Lifecycle.WAITING
    return Lifecycle.RUNNING if state.attempt_count else Lifecycle.QUEUED
