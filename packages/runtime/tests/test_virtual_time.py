"""Programs of sleeps run at once, and what cannot be waited for is refused."""

from __future__ import annotations

import asyncio
import gc
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta

import anyio
import anyio.to_thread
import pytest
from hypothesis import given
from hypothesis import strategies as st

from psych_runtime.testing.clock import START
from psych_runtime.testing.virtual import (
    RealIoInVirtualTime,
    VirtualClock,
    VirtualTimeStuck,
    run_virtual,
)
from psych_runtime_core.clock import Clock

Trace = list[tuple[float, str]]
# Of virtual time, as every second here.
TENTH, SECOND, DAY = 0.1, 1.0, 86_400.0


def traced(program: list[list[float]]) -> Trace:
    """Run tasks that each sleep in turn; every waking, with its time."""
    trace: Trace = []

    async def task(name: int, sleeps: list[float]) -> None:
        for seconds in sleeps:
            begun = asyncio.get_running_loop().time()
            await asyncio.sleep(seconds)
            now = asyncio.get_running_loop().time()
            assert begun + seconds - 1e-9 <= now < begun + seconds + 1e-6
            trace.append((now, f"task {name}"))

    async def main() -> None:
        async with anyio.create_task_group() as group:
            for name, sleeps in enumerate(program):
                group.start_soon(task, name, sleeps)

    run_virtual(main)
    return trace


@given(st.lists(st.lists(st.floats(0.0, 1e5), max_size=4), max_size=5))
def test_a_program_of_sleeps_has_one_trace_in_due_order(program: list[list[float]]) -> None:
    trace = traced(program)
    assert trace == traced(program)
    assert trace == sorted(trace, key=lambda woken: woken[0])


def test_a_year_passes_at_once_and_exactly() -> None:
    async def main() -> tuple[datetime, float]:
        clock: Clock = VirtualClock()
        begun = clock.now()
        for _day in range(365):
            await clock.sleep(DAY)
        return begun, clock.monotonic()

    began = time.monotonic()
    assert run_virtual(main) == (START, 365 * DAY)
    assert time.monotonic() - began < 5


def test_a_virtual_clock_reads_the_time_of_its_loop() -> None:
    async def main() -> datetime:
        clock = VirtualClock(START + timedelta(days=1))
        for _ in range(10):
            await clock.sleep(TENTH)
        await clock.sleep(-1.0)
        return clock.now()

    assert run_virtual(main) == START + timedelta(days=1, seconds=1)


def test_a_virtual_clock_needs_a_zone() -> None:
    with pytest.raises(ValueError, match="timezone"):
        VirtualClock(datetime(2026, 1, 1))  # noqa: DTZ001 - the naive time that is refused


def test_time_stands_still_while_anything_is_ready() -> None:
    async def main() -> float:
        for _ in range(1_000):
            await asyncio.sleep(0)
        return asyncio.get_running_loop().time()

    assert run_virtual(main) == 0.0


def test_timeouts_are_virtual_too() -> None:
    async def main() -> float:
        with anyio.move_on_after(3_600.0):
            await anyio.sleep_forever()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asyncio.Event().wait(), 400.0)
        return asyncio.get_running_loop().time()

    assert run_virtual(main) == 4_000.0


def test_an_error_of_the_program_leaves_it_as_itself() -> None:
    async def main() -> None:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        run_virtual(main)


# --- stuck ---


async def waits_for_nobody() -> None:
    await asyncio.Event().wait()


async def sleeps_for_ever() -> None:
    async with anyio.create_task_group() as group:
        group.start_soon(anyio.sleep_forever)


@pytest.mark.parametrize("main", [waits_for_nobody, sleeps_for_ever])
def test_a_program_that_nothing_will_wake_is_stuck(main: Callable[[], Awaitable[None]]) -> None:
    cleaned: list[str] = []

    async def guarded() -> None:
        try:
            await main()
        finally:
            await asyncio.sleep(SECOND)
            cleaned.append("up")

    with pytest.raises(VirtualTimeStuck, match="in guarded") as raised:
        run_virtual(guarded)
    assert all("test_virtual_time.py" in task or "anyio" in task for task in raised.value.pending)
    assert cleaned == ["up"]


def test_a_running_loop_cannot_be_taken_over() -> None:
    async def main() -> None:
        run_virtual(waits_for_nobody)

    with pytest.raises(RuntimeError, match="owns its event loop"):
        run_virtual(main)


# --- real I/O ---


async def uses_a_thread() -> None:
    await asyncio.to_thread(sum, (1, 2))


async def uses_a_thread_of_anyio() -> None:
    await anyio.to_thread.run_sync(sum, (1, 2))


async def uses_a_thread_beside_timers() -> None:
    async with anyio.create_task_group() as group:
        group.start_soon(anyio.sleep, 1e7)
        await uses_a_thread_of_anyio()


async def looks_a_host_up() -> None:
    await asyncio.get_running_loop().getaddrinfo("localhost", 80)


async def connects() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        await asyncio.open_connection(*server.getsockname())


async def listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        await asyncio.start_server(lambda _reader, _writer: None, sock=listening)


async def reads_a_pipe() -> None:
    left, right = socket.socketpair()
    with left, right:
        asyncio.get_running_loop().add_reader(left, list)


async def starts_a_process() -> None:
    await asyncio.create_subprocess_exec(sys.executable, "-c", "")


async def starts_a_shell() -> None:
    await asyncio.create_subprocess_shell("true")


async def swallows_the_refusal() -> None:
    try:
        await uses_a_thread()
    except RealIoInVirtualTime:
        await asyncio.sleep(SECOND)


@pytest.mark.parametrize(
    ("main", "used"),
    [
        (uses_a_thread, "a thread"),
        (uses_a_thread_of_anyio, "the thread"),
        (uses_a_thread_beside_timers, "the thread"),
        (looks_a_host_up, "a thread"),
        (connects, "the socket"),
        (listens, "the socket"),
        (reads_a_pipe, "the socket"),
        (starts_a_process, "the process"),
        (starts_a_shell, "the process"),
        (swallows_the_refusal, "a thread"),
    ],
)
def test_real_io_is_refused(main: Callable[[], Awaitable[None]], used: str) -> None:
    async def run() -> None:
        await main()

    with pytest.raises(RealIoInVirtualTime, match=f"not for {used}") as raised:
        run_virtual(run)
    assert raised.value.used.startswith(used)
    gc.collect()  # what the refusal left open would warn here


def test_a_thread_may_not_call_in() -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        called = asyncio.Event()
        thread = threading.Thread(target=loop.call_soon_threadsafe, args=(called.set,))
        thread.start()
        thread.join()
        await called.wait()

    with pytest.raises(RealIoInVirtualTime, match="the thread"):
        run_virtual(main)


def test_a_process_that_nobody_waits_for_on_the_loop_is_none_of_its_business() -> None:
    async def main() -> int:
        return subprocess.run([sys.executable, "-c", ""], check=True).returncode  # noqa: ASYNC221 - it blocks

    assert run_virtual(main) == 0
