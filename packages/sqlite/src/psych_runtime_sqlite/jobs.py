"""Work that a task hands to a thread, and the way back."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any, Generic, Literal, TypeVar

from psych_runtime_core.errors import StoreUnavailable
from psych_runtime_sqlite.connection import SQLiteDriver, complete

T = TypeVar("T")
Work = Callable[[SQLiteDriver], Coroutine[Any, Any, T]]


@dataclass(slots=True, eq=False)
class Job(Generic[T]):
    """An operation and who waits for it. `pages` is about how much it writes; `deadline` is monotonic."""

    operation: str
    work: Work[T]
    future: asyncio.Future[T]
    deadline: float
    pages: int = 0
    begun: bool = False
    withdrawn: bool = False

    def begin(self) -> bool:
        """Whether it is still to be done. Asked by the thread, inside the transaction."""
        # This order, against that of `give_up`: one of the two sees what the other has set.
        self.begun = True
        return not self.withdrawn

    def give_up(self, seconds: float) -> None:
        """Wait no longer. What has not begun is not done either. Called in the loop."""
        self.withdrawn = True
        outcome: Literal["none", "unknown"] = "unknown" if self.begun else "none"
        if not self.future.done():
            detail = f"it took longer than {seconds:g} s"
            if not self.begun:
                detail += "; a transaction of yours on this file that is still open may hold it up"
            self.future.set_exception(StoreUnavailable(self.operation, detail, outcome))

    def run(self, driver: SQLiteDriver) -> T | Exception:
        """The result, or what the operation refuses with. Raises SQLite's own errors."""
        try:
            return complete(self.work(driver))
        except sqlite3.Error:
            raise
        except Exception as refusal:
            return refusal


Answer = tuple[Job[Any], Any]
"""A job with its result, or with the exception it ended with."""
Jobs = SimpleQueue[Job[Any] | None]
"""What waits for a thread; None ends it."""


def settle(answers: list[Answer]) -> None:
    """Answer who still waits. Runs in the loop of the jobs."""
    for job, answer in answers:
        if job.future.done():
            continue
        if isinstance(answer, BaseException):
            job.future.set_exception(answer)
        else:
            job.future.set_result(answer)


def post(
    loop: asyncio.AbstractEventLoop, deliver: Callable[[list[Answer]], None], answers: list[Answer]
) -> None:
    """Have a loop deliver answers. A loop that is closed has nobody who waits."""
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(deliver, answers)


def start(
    name: str, jobs: Jobs, serve: Callable[[Job[Any]], None], at_end: Callable[[], None]
) -> threading.Thread:
    """A thread that serves jobs until it is told to end. It keeps no process alive."""

    def run() -> None:
        while (job := jobs.get()) is not None:
            serve(job)
            # A store that nobody else has must not live on in the last thing it was asked.
            del job
        at_end()

    thread = threading.Thread(target=run, name=name, daemon=True)
    thread.start()
    return thread
