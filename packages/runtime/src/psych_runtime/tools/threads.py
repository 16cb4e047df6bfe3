"""The daemon threads in which synchronous tools run, so many at once, and the ones that hang."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from threading import Lock, Thread

from psych_runtime.tools.ending import Raised, Returned, ending_of


class Job:
    """Work that waits for a thread or runs in one. `ended` is done with its ending, on the caller's loop."""

    def __init__(self, work: Callable[[], object], began: Callable[[], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._context, self._work, self._began = copy_context(), work, began
        self.ended: asyncio.Future[Returned | Raised] = self._loop.create_future()
        self.given_up = False

    def run(self) -> None:
        """Do the work, in the thread that calls this."""
        self._tell(self._began)
        self.end(ending_of(lambda: self._context.run(self._work)))

    def end(self, ending: Returned | Raised) -> None:
        """Tell whoever still waits, from any thread."""
        self._tell(lambda: None if self.ended.done() else self.ended.set_result(ending))

    def _tell(self, tidings: Callable[[], None]) -> None:
        # The loop of a finished process is closed while a hung thread still runs.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(tidings)


class ToolThreads:
    """Runs at most `limit` jobs at once, first come first served, each in a daemon thread of its own.

    A job that was given up while it ran counts as hung, and its place goes to another, for up to `limit` of
    them. Daemon threads hold no finished process. Any thread may use it, and loops may share it.
    """

    def __init__(self, limit: int = 32) -> None:
        self.limit = limit
        self._lock = Lock()
        self._queue: deque[Job] = deque()
        self._running: set[Job] = set()

    @property
    def hung(self) -> int:
        """How many jobs run on though they were given up."""
        with self._lock:
            return self._hung()

    @property
    def exhausted(self) -> bool:
        """Whether no hung job more would be replaced: begin no synchronous tool here."""
        return self.hung >= self.limit

    def submit(self, work: Callable[[], object], began: Callable[[], None] = lambda: None) -> Job:
        """Run `work` in a thread as soon as one is free, with the caller's context variables.

        `began` is called on the caller's loop when it starts. Needs a running loop.
        """
        job = Job(work, began)
        with self._lock:
            self._queue.append(job)
        self._start_next()
        return job

    def give_up(self, job: Job) -> bool:
        """Hear no more of `job`; False when it never began, and now never will."""
        with self._lock:
            if job in self._queue:
                self._queue.remove(job)
                return False
            job.given_up = True
        self._start_next()
        return True

    def _hung(self) -> int:
        return sum(job.given_up for job in self._running)

    def _start_next(self) -> None:
        """Give free places to the jobs that wait."""
        while (job := self._take()) is not None:
            try:
                Thread(target=self._run, args=(job,), name="psych-tool", daemon=True).start()
            except RuntimeError as error:
                # The machine has no thread left. Nothing of the job began.
                self._done(job)
                job.end(Raised(error))

    def _take(self) -> Job | None:
        with self._lock:
            busy = len(self._running) - min(self._hung(), self.limit)
            if not self._queue or busy >= self.limit:
                return None
            job = self._queue.popleft()
            self._running.add(job)
            return job

    def _done(self, job: Job) -> None:
        with self._lock:
            self._running.discard(job)

    def _run(self, job: Job) -> None:
        job.run()
        self._done(job)
        self._start_next()
