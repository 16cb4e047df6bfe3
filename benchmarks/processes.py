"""A function in another process, and the pipe to it."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Generator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any


@contextmanager
def started(target: Callable[..., None], *arguments: Any) -> Generator[Connection]:
    """`target(pipe, *arguments)` in a fresh interpreter, killed when the block is left."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=target, args=(theirs, *arguments), daemon=True)
    process.start()
    # What the other process holds is its own copy; with ours closed its death ends a `recv`.
    theirs.close()
    try:
        yield ours
    finally:
        process.kill()
        process.join()
        process.close()
        ours.close()
