"""Synchronous code runs in threads: in order, so many at once, with its caller's variables."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from functools import partial

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest

from psych_runtime.tools.ending import Raised, Returned
from psych_runtime.tools.threads import Job, ToolThreads

WHO: ContextVar[str] = ContextVar("WHO", default="nobody")


class Gate:
    """Work that says when it began and goes on when it is let go."""

    def __init__(self, name: object = None) -> None:
        self.name = name
        self.began = threading.Event()
        self.let_go = threading.Event()

    def __call__(self) -> object:
        self.began.set()
        self.let_go.wait()
        return self.name


@pytest.fixture
def gates() -> Iterator[list[Gate]]:
    """Ten, all let go in the end."""
    gates = [Gate(n) for n in range(10)]
    yield gates
    for gate in gates:
        gate.let_go.set()


async def begun(gate: Gate) -> None:
    """Wait until the work runs, without holding the loop."""
    await anyio.to_thread.run_sync(gate.began.wait)


async def ending(job: Job) -> Returned | Raised:
    return await job.ended


async def until(condition: Callable[[], bool]) -> None:
    """Let the loop turn until it holds."""
    with anyio.fail_after(10):
        while not condition():
            await anyio.lowlevel.checkpoint()


# --- one job ---------------------------------------------------------------------------------------------


async def test_a_job_gives_its_value_or_its_exception() -> None:
    threads = ToolThreads()
    assert await ending(threads.submit(lambda: 7)) == Returned(7)
    for error in (
        ValueError(),
        StopIteration(1),
        SystemExit(1),
        KeyboardInterrupt(),
        asyncio.CancelledError(),
    ):
        found = await ending(threads.submit(raising(error)))
        assert isinstance(found, Raised)
        assert found.error is error


def raising(error: BaseException) -> Callable[[], object]:
    def work() -> object:
        raise error

    return work


async def test_a_job_sees_its_callers_variables_and_changes_only_its_own() -> None:
    WHO.set("me")

    def work() -> object:
        seen = WHO.get()
        WHO.set("the thread")
        return seen

    assert await ending(ToolThreads().submit(work)) == Returned("me")
    assert WHO.get() == "me"


async def test_the_loop_goes_on_beside_a_job(gates: list[Gate]) -> None:
    job = ToolThreads().submit(gates[0])
    await begun(gates[0])
    assert not job.ended.done()
    gates[0].let_go.set()
    assert await ending(job) == Returned(0)


async def test_a_job_runs_in_a_daemon_thread() -> None:
    assert await ending(ToolThreads().submit(lambda: threading.current_thread().daemon)) == Returned(True)


# --- many ------------------------------------------------------------------------------------------------


async def test_jobs_wait_for_a_free_thread_in_their_order(gates: list[Gate]) -> None:
    threads = ToolThreads(limit=1)
    order: list[object] = []
    jobs = [threads.submit(gate, began=partial(order.append, gate.name)) for gate in gates]
    for gate, job in zip(gates, jobs, strict=True):
        await begun(gate)
        gate.let_go.set()
        assert await ending(job) == Returned(gate.name)
    assert order == list(range(10))


async def test_as_many_jobs_run_at_once_as_there_are_threads(gates: list[Gate]) -> None:
    threads = ToolThreads(limit=9)
    jobs = [threads.submit(gate) for gate in gates]
    for gate in gates[:9]:
        await begun(gate)
    assert not gates[9].began.is_set()
    gates[4].let_go.set()
    await begun(gates[9])
    gates[9].let_go.set()
    assert await ending(jobs[9]) == Returned(9)


async def test_a_job_that_is_given_up_before_it_began_never_runs(gates: list[Gate]) -> None:
    threads = ToolThreads(limit=1)
    first, second, third = (threads.submit(gate) for gate in gates[:3])
    await begun(gates[0])
    assert threads.give_up(second) is False
    gates[0].let_go.set()
    gates[2].let_go.set()
    assert (await ending(first), await ending(third)) == (Returned(0), Returned(2))
    assert not gates[1].began.is_set()
    assert threads.hung == 0


# --- hung ones -------------------------------------------------------------------------------------------


async def test_a_hung_job_is_counted_and_replaced(gates: list[Gate]) -> None:
    threads = ToolThreads(limit=1)
    hung, waiting = threads.submit(gates[0]), threads.submit(gates[1])
    await begun(gates[0])
    assert threads.give_up(hung) is True
    await begun(gates[1])
    assert (threads.hung, threads.exhausted) == (1, True)
    gates[1].let_go.set()
    assert await ending(waiting) == Returned(1)
    gates[0].let_go.set()
    await until(lambda: threads.hung == 0)
    assert not threads.exhausted


async def test_hung_jobs_are_replaced_up_to_the_limit(gates: list[Gate]) -> None:
    threads = ToolThreads(limit=2)
    for gate in gates[:4]:
        job = threads.submit(gate)
        await begun(gate)
        threads.give_up(job)
    assert (threads.hung, threads.exhausted) == (4, True)
    waiting = threads.submit(gates[4])
    await anyio.wait_all_tasks_blocked()
    assert not gates[4].began.is_set()
    gates[4].let_go.set()
    gates[0].let_go.set()
    assert await ending(waiting) == Returned(4)


async def test_a_job_that_ended_unheard_harms_nobody(gates: list[Gate]) -> None:
    threads = ToolThreads(limit=1)
    job = threads.submit(gates[0])
    await begun(gates[0])
    job.ended.cancel()
    threads.give_up(job)
    gates[0].let_go.set()
    await until(lambda: threads.hung == 0)
    assert await ending(threads.submit(lambda: 1)) == Returned(1)


def no_thread(_: threading.Thread) -> None:
    raise RuntimeError("can't start new thread")


async def test_a_machine_without_threads_fails_the_job_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    threads = ToolThreads(limit=1)
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", no_thread)
        found = await ending(threads.submit(lambda: 1))
    assert isinstance(found, Raised)
    assert str(found.error) == "can't start new thread"
    assert await ending(threads.submit(lambda: 1)) == Returned(1)


def test_a_hung_job_holds_no_finished_process() -> None:
    program = (
        "import asyncio, threading\n"
        "from psych_runtime.tools.threads import ToolThreads\n"
        "async def main():\n"
        "    threads, began = ToolThreads(), asyncio.Event()\n"
        "    job = threads.submit(threading.Event().wait, began.set)\n"
        "    await began.wait()\n"
        "    threads.give_up(job)\n"
        "asyncio.run(main())\n"
        "print('over')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, timeout=60, capture_output=True, text=True
    )
    assert (done.stdout, done.stderr) == ("over\n", "")


def test_a_job_may_end_after_its_loop() -> None:
    threads, gate = ToolThreads(), Gate()

    async def main() -> None:
        threads.give_up(threads.submit(gate))
        await begun(gate)

    asyncio.run(main())
    gate.let_go.set()
    asyncio.run(until(lambda: threads.hung == 0))
