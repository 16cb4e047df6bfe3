"""The one write connection of a process: what waits together is committed together."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from psych_runtime_core.errors import StoreUnavailable
from psych_runtime_sql.outcome import Outcome
from psych_runtime_sqlite import faults
from psych_runtime_sqlite.checkpoint import Checkpointer
from psych_runtime_sqlite.connection import HeldConnection, SQLiteDriver
from psych_runtime_sqlite.database import PAGE_BYTES, Database, pause
from psych_runtime_sqlite.faults import is_busy
from psych_runtime_sqlite.jobs import Answer, Job, Jobs, Work, post, settle, start

T = TypeVar("T")
Group = list[Job[Any]]

GROUP = 64
# 16 MiB: who waits behind a group that is full waits for no more than behind the largest commit.
GROUP_PAGES = 16 * 1024 * 1024 // PAGE_BYTES
# A commit of a few entries touches the row of its Run, the log, its index and, at times, the queue's.
PAGES_OF_AN_OPERATION = 4


class CommitFailed(Exception):
    """SQLite did not say whether a group is stored; its error is the cause."""

    def __init__(self, cause: sqlite3.Error) -> None:
        super().__init__(str(cause))
        self.cause = cause


class Writer:
    """One thread with one connection. `heard` is told, in the loop, what was committed."""

    def __init__(
        self, database: Database, loop: asyncio.AbstractEventLoop, heard: Callable[[Outcome[Any]], None]
    ) -> None:
        self._database, self._loop, self._heard = database, loop, heard
        self._jobs: Jobs = SimpleQueue()
        self._held = HeldConnection(database.connect_writer)
        self._checkpointer = Checkpointer(database.path)
        self._threads: list[threading.Thread] = []

    def submit(self, operation: str, work: Work[Outcome[T]], size: int = 0) -> Job[Outcome[T]]:
        """Have `work` done in a transaction, answered when that is committed. It adds about `size` bytes.

        Called in the loop. Who stops waiting changes nothing: the work is done with its neighbours'.
        """
        if not self._threads:
            self._threads.append(start("psych-sqlite-writer", self._jobs, self._serve, self._held.close))
        future: asyncio.Future[Outcome[T]] = self._loop.create_future()
        deadline = time.monotonic() + self._database.busy_seconds
        pages = PAGES_OF_AN_OPERATION + size // PAGE_BYTES
        job = Job(operation, work, future, deadline, pages)
        self._jobs.put(job)
        return job

    def stop(self) -> list[threading.Thread]:
        """End the thread when it has done what waits; it may be joined."""
        for _ in self._threads:
            self._jobs.put(None)
        return self._threads

    # --- in the thread

    def _serve(self, first: Job[Any]) -> None:
        groups = deque([self._gather(first)])
        tried = 0
        while groups:
            group = groups.popleft()
            try:
                answers = self._commit(group)
            except sqlite3.Error as error:
                if is_busy(error):
                    groups.extendleft(self._still_waiting(group))
                    time.sleep(pause(tried))
                    tried += 1
                    continue
                if len(group) > 1:
                    # One of them met it: each alone learns what is its own.
                    groups.extendleft([job] for job in reversed(group))
                    continue
                answers = self._failed(group, error)
            except CommitFailed as failure:
                answers = self._failed(group, failure.cause, "unknown")
            except Exception as error:
                answers = [(job, error) for job in group]
            tried = 0
            self._answer(answers)
        self._checkpoint()

    def _gather(self, first: Job[Any]) -> Group:
        """What waits already, up to a group. A stop that was met is put back."""
        group = [first]
        with suppress(Empty):
            while len(group) < GROUP and sum(job.pages for job in group) < GROUP_PAGES:
                job = self._jobs.get_nowait()
                if job is None:
                    self._jobs.put(None)
                    break
                group.append(job)
        return group

    def _commit(self, group: Group) -> list[Answer]:
        """Commit a group; a refused operation alone is rolled back. What fails closes the connection."""
        with self._held.use() as (connection, driver):
            connection.execute("BEGIN IMMEDIATE")
            jobs = [job for job in group if job.begin()]
            operate = self._operate_alone if len(jobs) == 1 else self._operate
            answers = [(job, operate(connection, driver, job)) for job in jobs]
            self._end(connection)
        self._checkpointer.note(sum(job.pages for job in group))
        return answers

    def _operate_alone(self, connection: sqlite3.Connection, driver: SQLiteDriver, job: Job[Any]) -> Any:
        answer = job.run(driver)
        if isinstance(answer, Exception):
            connection.execute("ROLLBACK")
        return answer

    def _operate(self, connection: sqlite3.Connection, driver: SQLiteDriver, job: Job[Any]) -> Any:
        connection.execute("SAVEPOINT operation")
        answer = job.run(driver)
        if isinstance(answer, Exception):
            connection.execute("ROLLBACK TO operation")
        connection.execute("RELEASE operation")
        return answer

    def _end(self, connection: sqlite3.Connection) -> None:
        """Commit what was not rolled back."""
        if not connection.in_transaction:
            return
        try:
            connection.execute("COMMIT")
        except sqlite3.Error as error:
            raise CommitFailed(error) from error

    def _still_waiting(self, group: Group) -> list[Group]:
        """The group without those whose time is over: they are told so."""
        now = time.monotonic()
        late = [job for job in group if job.deadline <= now]
        held = f"another process kept the write lock for {self._database.busy_seconds:g} s"
        self._answer([(job, StoreUnavailable(job.operation, held, "none")) for job in late])
        waiting = [job for job in group if job.deadline > now]
        return [waiting] if waiting else []

    def _failed(self, group: Group, error: sqlite3.Error, outcome: faults.Outcome = "none") -> list[Answer]:
        return [(job, self._database.explain(error, job.operation, outcome)) for job in group]

    def _answer(self, answers: list[Answer]) -> None:
        post(self._loop, self._deliver, answers)

    def _checkpoint(self) -> None:
        if self._checkpointer.is_due:
            # It failed on a disk that is full or gone; the next commit says so.
            with suppress(sqlite3.Error, OSError), self._held.use() as (connection, _):
                self._checkpointer.run(connection)

    # --- in the loop

    def _deliver(self, answers: list[Answer]) -> None:
        settle(answers)
        for _, answer in answers:
            if not isinstance(answer, BaseException):
                self._heard(answer)
