"""A Run's life in one word."""

from __future__ import annotations

from psych_runtime_core.ports.runs import SETTLED_LIFECYCLE, Lifecycle
from psych_runtime_core.state.run import RunStateView


def lifecycle_of(state: RunStateView) -> Lifecycle:
    """The Run's life, from its folded log."""
    if state.terminal_state is not None:
        return SETTLED_LIFECYCLE[state.terminal_state]
    if state.aborted:
        return Lifecycle.STOPPING
    if state.parked:
        return Lifecycle.WAITING
    return Lifecycle.RUNNING if state.attempt_count else Lifecycle.QUEUED
