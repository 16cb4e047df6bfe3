"""What tools really did: a line for each run of one, kept past any crash."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from itertools import count
from pathlib import Path
from threading import Lock
from typing import Any

from psych_runtime.testing.watched_tools import ToolRun, WatchedRegistry
from psych_runtime.tools.convert import Converted, convert
from psych_runtime.tools.ending import Raised, Returned
from psych_runtime.tools.registry import ToolRegistry
from psych_runtime_core.clock import Clock, SystemClock
from psych_runtime_core.ids import RunId, ToolCallId, content_digest, encoded_digest

Line = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Invocation:
    """One run of a tool's code.

    `run_number` counts the runs of its call, from 1. The digests are unsalted, of canonical JSON; the
    instants are in ISO form. `finished_at` is None while it runs, and for good where its process died.
    `error` is the class of what it raised; `result_digest` is None then, and of a result that is no JSON.
    """

    run_id: RunId
    call_id: ToolCallId
    tool: str
    run_number: int
    arguments_digest: str
    began_at: str
    finished_at: str | None = None
    result_digest: str | None = None
    error: str | None = None


class EffectLedger:
    """Writes down what the tools of a registry do: that a run begins before it does, and how it ended.

    With a `path` each line is appended and synced before the tool goes on, so that it outlives SIGKILL; any
    number of processes may share the file.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None, *, clock: Clock | None = None) -> None:
        self._path = None if path is None else Path(path)
        self._clock = clock or SystemClock()
        self._lock, self._numbers = Lock(), count(1)
        self._lines: list[Line] = []
        self._open: dict[ToolRun, str] = {}

    def wrap(self, registry: ToolRegistry) -> ToolRegistry:
        """The same tools, each run of them written down."""
        return WatchedRegistry(registry, self)

    @property
    def invocations(self) -> tuple[Invocation, ...]:
        """What was written down so far, in the order of the beginnings."""
        with self._lock:
            return _invocations(self._lines if self._path is None else _read(self._path))

    def began(self, run: ToolRun) -> None:
        """Write down that `run` begins."""
        context = run.context
        invocation = Invocation(
            run_id=context.run_id,
            call_id=context.call_id,
            tool=context.tool,
            run_number=context.run_number,
            arguments_digest=content_digest(b"", run.arguments),
            began_at=self._now(),
        )
        with self._lock:
            self._open[run] = f"{os.getpid()}:{next(self._numbers)}"
            self._write({"number": self._open[run], **asdict(invocation)})

    def ended(self, run: ToolRun, ending: Returned | Raised) -> None:
        """Write down how `run` ended."""
        how: Line
        if isinstance(ending, Raised):
            how = {"error": type(ending.error).__name__}
        else:
            value = convert(ending.value)
            how = {
                "result_digest": encoded_digest(b"", value.encoded) if isinstance(value, Converted) else None
            }
        with self._lock:
            self._write({"number": self._open.pop(run), "finished_at": self._now(), **how})

    def _now(self) -> str:
        return self._clock.now().isoformat()

    def _write(self, line: Line) -> None:
        if self._path is None:
            self._lines.append(line)
            return
        # One write of one line: no other process comes between its bytes.
        file = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(file, json.dumps(line).encode() + b"\n")
            os.fsync(file)
        finally:
            os.close(file)


def _read(path: Path) -> list[Line]:
    return [json.loads(line) for line in path.read_bytes().splitlines()] if path.exists() else []


def _invocations(lines: Iterable[Line]) -> tuple[Invocation, ...]:
    found: dict[str, Invocation] = {}
    for line in lines:
        fields = dict(line)
        number = fields.pop("number")
        found[number] = replace(found[number], **fields) if number in found else Invocation(**fields)
    return tuple(found.values())
