"""One run of a tool's code, how it ends, and what a cut does to it."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from typing import Any

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest

from packages.runtime.tests.tools_made import CONTEXT, called, registered
from psych_runtime.tools.context import ToolContext
from psych_runtime.tools.ending import Ending, Raised, Returned, Unheard
from psych_runtime.tools.invoke import CodeRun, invoke
from psych_runtime.tools.threads import ToolThreads


def fresh_context() -> ToolContext:
    """One that is cut alone."""
    return replace(CONTEXT)


def started(fn: Any, context: ToolContext | None = None, threads: ToolThreads | None = None) -> CodeRun:
    tool = registered(fn)
    where = None if tool.is_async else threads or ToolThreads()
    return CodeRun(tool.bind({}, context), threads=where, context=context)


async def ended(fn: Any) -> Ending:
    return await invoke(registered(fn), {}, None, ToolThreads())


def raised(ending: Ending) -> BaseException:
    assert isinstance(ending, Raised)
    return ending.error


# --- endings -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("on_loop", [True, False], ids=["on the loop", "in a thread"])
@pytest.mark.parametrize(
    "error",
    [
        ValueError("x"),
        SystemExit(1),
        KeyboardInterrupt(),
        GeneratorExit(),
        asyncio.CancelledError("mine"),
        ExceptionGroup("g", [ValueError()]),
    ],
    ids=repr,
)
async def test_whatever_is_raised_ends_that_run_alone(error: BaseException, on_loop: bool) -> None:
    async def on_the_loop() -> None:
        raise error

    def in_a_thread() -> None:
        raise error

    async def beside() -> str:
        await asyncio.sleep(0)
        return "fine"

    other = started(beside)
    assert raised(await ended(on_the_loop if on_loop else in_a_thread)) is error
    assert await other.wait() == Returned("fine")


async def test_a_tool_that_cancels_itself_ends_and_its_caller_goes_on() -> None:
    async def cancels_itself() -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(0)

    run = started(cancels_itself)
    assert isinstance(raised(await run.wait()), asyncio.CancelledError)
    assert not run.was_cut


async def test_what_a_thread_returns_is_awaited_on_the_loop() -> None:
    async def inner() -> str:
        return threading.current_thread().name

    def tool() -> Any:
        return inner()

    assert await ended(tool) == Returned("MainThread")


async def test_a_run_that_waits_for_a_thread_has_not_begun() -> None:
    threads, gate = ToolThreads(limit=1), threading.Event()

    def waits() -> bool:
        return gate.wait()

    first, second = started(waits, threads=threads), started(waits, threads=threads)
    await first.began.wait()
    assert not second.began.is_set()
    gate.set()
    assert (await first.wait(), await second.wait()) == (Returned(True), Returned(True))
    assert second.began.is_set()


# --- cuts --------------------------------------------------------------------------------------------


async def test_a_cut_unwinds_async_code() -> None:
    unwound: list[str] = []

    async def tool(context: ToolContext) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            unwound.append(f"cancelled={context.cancelled}")

    run = started(tool, fresh_context())
    await anyio.wait_all_tasks_blocked()
    run.cut()
    assert isinstance(raised(await run.wait()), asyncio.CancelledError)
    assert run.was_cut
    assert unwound == ["cancelled=True"]


async def test_a_cut_before_the_first_step_begins_nothing() -> None:
    ran: list[int] = []

    async def tool() -> None:
        ran.append(1)

    run = started(tool)
    run.cut()
    assert isinstance(raised(await run.wait()), asyncio.CancelledError)
    assert not run.began.is_set()
    assert ran == []


async def test_code_that_swallows_its_cancellation_ends_as_it_likes() -> None:
    async def tool() -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await asyncio.sleep(0)
        return "all the same"

    run = started(tool)
    await anyio.wait_all_tasks_blocked()
    run.cut()
    assert await run.wait() == Returned("all the same")


async def test_a_cut_leaves_a_thread_to_end_unheard() -> None:
    threads, gate, context = ToolThreads(), threading.Event(), fresh_context()
    seen: list[bool] = []

    def tool(context: ToolContext) -> None:
        gate.wait()
        seen.append(context.cancelled)
        gate.clear()

    run = started(tool, context, threads)
    await run.began.wait()
    run.cut()
    assert await run.wait() == Unheard()
    assert threads.hung == 1
    gate.set()
    with anyio.fail_after(10):
        while threads.hung:
            await anyio.lowlevel.checkpoint()
    assert seen == [True]


async def test_a_cut_of_a_run_that_waits_for_a_thread_begins_nothing() -> None:
    threads, gate = ToolThreads(limit=1), threading.Event()
    ran: list[int] = []
    blocking = started(lambda: gate.wait(), threads=threads)
    waiting = started(lambda: ran.append(1), threads=threads)
    await blocking.began.wait()
    waiting.cut()
    assert isinstance(raised(await waiting.wait()), asyncio.CancelledError)
    gate.set()
    assert await blocking.wait() == Returned(True)
    assert (ran, threads.hung) == ([], 0)


async def test_a_cut_at_a_threads_last_moment_still_cuts_what_came_of_it() -> None:
    threads = ToolThreads()

    def tool() -> Any:
        return forever()

    async def forever() -> None:
        await asyncio.Event().wait()

    run = started(tool, threads=threads)
    await run.began.wait()
    await anyio.to_thread.run_sync(lambda: None)
    run.cut()
    with anyio.fail_after(10):
        ending = await run.wait()
    assert isinstance(ending, Unheard) or isinstance(raised(ending), asyncio.CancelledError)


# --- whoever waits -----------------------------------------------------------------------------------


async def test_who_stops_waiting_leaves_the_code_running() -> None:
    go_on = asyncio.Event()

    async def tool() -> str:
        await go_on.wait()
        return "done"

    run = started(tool)
    with anyio.move_on_after(0):
        await run.wait()
    go_on.set()
    assert await run.wait() == Returned("done")


@pytest.mark.parametrize("kind", ["a scope", "a task"])
async def test_cancelling_invoke_unwinds_the_tool_first(kind: str) -> None:
    order: list[str] = []
    began = asyncio.Event()

    async def tool() -> None:
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            order.append("the tool unwound")

    async def caller() -> None:
        try:
            await ended(tool)
        finally:
            order.append("the caller was cancelled")

    if kind == "a scope":
        async with anyio.create_task_group() as group:
            group.start_soon(caller)
            await began.wait()
            group.cancel_scope.cancel()
    else:
        task = asyncio.ensure_future(caller())
        await began.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert order == ["the tool unwound", "the caller was cancelled"]


async def test_a_tool_that_needs_a_context_is_not_begun_without_one() -> None:
    async def tool(context: ToolContext) -> None: ...

    with pytest.raises(ValueError, match="takes a ToolContext"):
        started(tool)
    assert await called(tool, {}, CONTEXT) is None
