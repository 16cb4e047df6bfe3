"""Read connections: each call is one snapshot, on whichever thread is free."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, TypeVar

from psych_runtime_sqlite.connection import HeldConnection, SQLiteDriver
from psych_runtime_sqlite.database import Database
from psych_runtime_sqlite.jobs import Answer, Job, Jobs, Work, post, settle, start

T = TypeVar("T")

# Some milliseconds of SQLite's virtual machine.
STEPS = 100_000


class Readers:
    """Up to `limit` threads over one queue, each with a connection of its own, begun as they are needed.

    Without `snapshots` each statement of a call sees what is stored at that moment.
    """

    def __init__(
        self, database: Database, loop: asyncio.AbstractEventLoop, limit: int, *, snapshots: bool = True
    ) -> None:
        self._database, self._loop, self._limit = database, loop, limit
        self._snapshots = snapshots
        self._jobs: Jobs = SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._open_jobs = 0

    def submit(self, operation: str, work: Work[T]) -> Job[T]:
        """Have `work` done. Called in the loop."""
        self._open_jobs += 1
        if len(self._threads) < min(self._open_jobs, self._limit):
            held = HeldConnection(self._database.connect_reader)
            serve = self._server(held)
            self._threads.append(start("psych-sqlite-reader", self._jobs, serve, held.close))
        future: asyncio.Future[T] = self._loop.create_future()
        job = Job(operation, work, future, deadline=0.0)
        self._jobs.put(job)
        return job

    def stop(self) -> list[threading.Thread]:
        """End the threads when they have done what waits; they may be joined."""
        for _ in self._threads:
            self._jobs.put(None)
        return self._threads

    def _server(self, held: HeldConnection) -> Callable[[Job[Any]], None]:
        def serve(job: Job[Any]) -> None:
            post(self._loop, self._deliver, [(job, self._answer(held, job))])

        return serve

    def _answer(self, held: HeldConnection, job: Job[Any]) -> Any:
        try:
            with held.use() as (connection, driver):
                # No statement outlives its caller.
                connection.set_progress_handler(job.future.done, STEPS)
                answer = self._run(connection, driver, job)
                connection.set_progress_handler(None, 0)
                return answer
        except sqlite3.Error as error:
            return self._database.explain(error, job.operation)
        except Exception as error:
            return error

    def _run(self, connection: sqlite3.Connection, driver: SQLiteDriver, job: Job[Any]) -> Any:
        if not self._snapshots:
            return job.run(driver)
        connection.execute("BEGIN")
        answer = job.run(driver)
        connection.execute("COMMIT")
        return answer

    def _deliver(self, answers: list[Answer]) -> None:
        self._open_jobs -= len(answers)
        settle(answers)
