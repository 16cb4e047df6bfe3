"""A function in another process, and the pipe to it."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import Any


@dataclass(frozen=True, slots=True)
class Other:
    """The other process. A `recv` from it raises `EOFError` when it is dead."""

    pipe: Connection
    process: SpawnProcess

    def kill(self) -> None:
        """SIGKILL; it is dead when this returns."""
        self.process.kill()
        self.process.join()


@contextmanager
def started(target: Callable[..., None], *arguments: Any) -> Generator[Other]:
    """`target(pipe, *arguments)` in a fresh interpreter, killed when the block is left."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    other = Other(ours, context.Process(target=target, args=(theirs, *arguments), daemon=True))
    other.process.start()
    # Open here as well, it would outlive the other process, and no `recv` would end.
    theirs.close()
    try:
        yield other
    finally:
        other.kill()
        other.process.close()
        ours.close()
