"""Large work is done beside the loop: others run and may cancel it; in virtual time it takes no time."""

from __future__ import annotations

import asyncio
import threading
from functools import partial

import anyio
import pytest

from psych_runtime.pace import Pace, beside
from psych_runtime.testing.virtual import run_virtual


@pytest.mark.parametrize(
    ("sizes", "over"),
    [
        pytest.param([1] * 7, [False, False, True, False, False, True, False], id="in steps"),
        pytest.param([5, 2, 1, 2], [True, False, True, False], id="what is left over is not counted on"),
    ],
)
def test_time_for_others_is_after_each_so_much(sizes: list[int], over: list[bool]) -> None:
    pace = Pace(3)
    assert [pace.is_over(size) for size in sizes] == over


async def test_what_is_done_beside_the_loop_is_done_in_a_thread() -> None:
    assert await beside(threading.get_ident) != threading.get_ident()


def test_in_virtual_time_it_is_done_at_once_and_in_no_thread() -> None:
    async def main() -> tuple[int, float]:
        thread = await beside(threading.get_ident)
        return thread, asyncio.get_running_loop().time()

    assert run_virtual(main) == (threading.get_ident(), 0.0)


async def test_who_is_cancelled_waits_for_no_thread() -> None:
    loop, begun, rest, ended = asyncio.get_running_loop(), asyncio.Event(), threading.Event(), list[bool]()

    def work() -> None:
        loop.call_soon_threadsafe(begun.set)
        ended.append(rest.wait(timeout=10.0))

    try:
        async with anyio.create_task_group() as group:
            group.start_soon(partial(beside, work))
            await begun.wait()
            group.cancel_scope.cancel()
        assert not ended
    finally:
        rest.set()
