"""What is wrong with what a tool was given, or gave: a value, told to whoever asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from psych_runtime_core.errors import Violation
from psych_runtime_core.records.base import cut
from psych_runtime_core.records.facts import FailureKind

MAX_FAULTS = 20
# So that twenty lines fit into the 8,192 characters that a record keeps of a failure.
MAX_FAULT_TEXT = 400


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a call cannot begin, or its result cannot be kept; `faults` are the places, where there are any."""

    kind: FailureKind
    message: str
    faults: tuple[Violation, ...] = ()


def invalid_arguments(faults: Sequence[Violation]) -> Problem:
    """The problem of arguments that do not fit, one line a fault, `field: what is wrong`."""
    lines = [
        cut(f"{fault.path.removeprefix('/') or 'arguments'}: {fault.message}", MAX_FAULT_TEXT)
        for fault in faults[:MAX_FAULTS]
    ]
    return Problem(FailureKind.INVALID_ARGUMENTS, "\n".join(lines), tuple(faults))
