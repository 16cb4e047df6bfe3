"""Asking the world whether a call took effect, when nobody saw its end."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, cast

from psych_runtime.tools.ending import Ending, Returned
from psych_runtime.tools.signature import Callee, callee_of, names_of
from psych_runtime_core.errors import ToolSchemaError


class ProbeState(StrEnum):
    """What became of a call."""

    DONE = "done"
    NOT_DONE = "not_done"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Probed:
    """What a probe found. `result` is the call's, of one that is done; None stands for `{"done": true}`."""

    state: ProbeState | str
    result: object = None


@dataclass(frozen=True, slots=True)
class ProbeCallee:
    """How a probe is called: the parameter that takes the key, and all else as for a tool."""

    key: str
    callee: Callee


def probe_callee_of(probe: Any, tool: str) -> ProbeCallee:
    """How `probe` is called. Raises `ToolSchemaError` unless it is async and takes the key alone."""
    line = "write `async def probe(key: str) -> str`"
    callee = callee_of(probe, tool)
    names = names_of(callee, tool)
    if not callee.is_async:
        raise ToolSchemaError(tool, None, f"its probe is not async: {line}")
    if len(names) != 1:
        raise ToolSchemaError(tool, None, f"its probe takes {', '.join(names) or 'nothing'}: {line}")
    return ProbeCallee(names[0], callee)


def probed(ending: Ending, *, passes_key_on: bool) -> Probed:
    """What a probe found, by how it ended; whatever is no answer is unknown.

    `not_done` counts only of a tool that passes its key on: the bytes of a paused process may still be on
    their way, and only the key lets the other side see one call.
    """
    if not isinstance(ending, Returned):
        return Probed(ProbeState.UNKNOWN)
    found = ending.value if isinstance(ending.value, Probed) else Probed(cast("str", ending.value))
    if found.state == ProbeState.DONE:
        return Probed(ProbeState.DONE, {"done": True} if found.result is None else found.result)
    if found.state == ProbeState.NOT_DONE and passes_key_on:
        return Probed(ProbeState.NOT_DONE)
    return Probed(ProbeState.UNKNOWN)
