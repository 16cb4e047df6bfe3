"""Read connections: each call is one snapshot, on whichever thread is free."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, TypeVar

from psych_runtime_sqlite.connection import HeldConnection
from psych_runtime_sqlite.database import Database
from psych_runtime_sqlite.faults import translated
from psych_runtime_sqlite.jobs import Answer, Job, Jobs, Work, post, settle, start

T = TypeVar("T")


class Readers:
    """Up to `limit` threads over one queue, each with a connection of its own, begun as they are needed."""

    def __init__(self, database: Database, loop: asyncio.AbstractEventLoop, limit: int) -> None:
        self._database, self._loop, self._limit = database, loop, limit
        self._jobs: Jobs = SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._open_jobs = 0

    def submit(self, operation: str, work: Work[T]) -> asyncio.Future[T]:
        """Run `work` in a snapshot. Called in the loop."""
        self._open_jobs += 1
        if len(self._threads) < min(self._open_jobs, self._limit):
            held = HeldConnection(self._database.connect_reader)
            serve = self._server(held)
            self._threads.append(start("psych-sqlite-reader", self._jobs, serve, held.close))
        future: asyncio.Future[T] = self._loop.create_future()
        self._jobs.put(Job(operation, work, future, deadline=0.0))
        return future

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
                connection.execute("BEGIN")
                answer = job.run(driver)
                connection.execute("COMMIT")
                return answer
        except sqlite3.Error as error:
            return translated(error, job.operation, self._database.path)
        except Exception as error:
            return error

    def _deliver(self, answers: list[Answer]) -> None:
        self._open_jobs -= len(answers)
        settle(answers)
