"""How far work has come, for whoever waits for it: on stderr, and only where it takes long."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from psych_runtime.cli.output import Output

# Shorter work says nothing.
PATIENCE_SECONDS = 1.0
REDRAWN_SECONDS = 0.1
TOLD_SECONDS = 10.0


@dataclass
class Progress:
    """Counts what is done. On a terminal one line is redrawn, elsewhere a line is printed now and then.

    `noun` names what is counted, `total` is how many there will be, where that is known.
    """

    output: Output
    noun: str
    total: int | None = None
    _done: int = field(default=0, init=False)
    _began: float = field(default=0.0, init=False)
    _next: float = field(default=0.0, init=False)
    _drawn: int = field(default=0, init=False)

    def __enter__(self) -> Self:
        self._began = time.monotonic()
        self._next = self._began + (PATIENCE_SECONDS if _on_a_terminal() else TOLD_SECONDS)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.clear()

    def advance(self, count: int = 1) -> None:
        """So many more are done."""
        self._done += count
        now = time.monotonic()
        if now >= self._next and not self._is_silent():
            self._tell(now)

    def clear(self) -> None:
        """Take the line away, so that another may stand there."""
        if self._drawn:
            sys.stderr.write("\r" + " " * self._drawn + "\r")
            sys.stderr.flush()
            self._drawn = 0

    def _is_silent(self) -> bool:
        """Who parses stderr finds documents there alone."""
        return self.output.quiet or (self.output.json and not _on_a_terminal())

    def _tell(self, now: float) -> None:
        of_all = "" if self.total is None else f" of {self.total}"
        rate = self._done / max(now - self._began, 0.001)
        line = f"psych: {self._done}{of_all} {self.noun}, {rate:.1f} a second"
        if _on_a_terminal():
            sys.stderr.write("\r" + line.ljust(self._drawn))
            self._drawn, self._next = len(line), now + REDRAWN_SECONDS
        else:
            sys.stderr.write(line + "\n")
            self._next = now + TOLD_SECONDS
        sys.stderr.flush()


def _on_a_terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()
