"""What is wrong with a record that may not follow a state."""

from __future__ import annotations

from dataclasses import dataclass

from psych_runtime_core.errors import CorruptionReason


@dataclass(frozen=True, slots=True)
class Breach:
    """A rule that a record would break: its class, and which, what was expected and what was found."""

    reason: CorruptionReason
    detail: str
