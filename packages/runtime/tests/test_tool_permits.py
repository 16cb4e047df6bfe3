"""Permits: so many calls of a tool at once over all Runs, first come first served; alone in a lane."""

from __future__ import annotations

import asyncio

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from psych_runtime.tools.permits import PermitClaim, Permits
from psych_runtime_core.ids import RunId, ToolCallId


def claim(
    call: str, *, run: str = "run_1", lane: str = "", parallel: bool = True, at_once: int | None = None
) -> PermitClaim:
    """What the call `call` of the tool `tool` asks for."""
    return PermitClaim(ToolCallId(call), RunId(run), lane, "tool", parallel, at_once)


class Queue:
    """Takes permits in tasks of its own, and knows who has one, in the order in which they came by it."""

    def __init__(self) -> None:
        self.permits = Permits()
        self.inside: list[str] = []
        self._tasks: dict[str, asyncio.Task[None]] = {}

    async def ask(self, *claims: PermitClaim) -> None:
        for each in claims:
            self._tasks[each.call_id] = asyncio.ensure_future(self._take(each))
            await anyio.wait_all_tasks_blocked()

    async def give_back(self, call: str) -> None:
        self.permits.give_back(ToolCallId(call))
        await anyio.wait_all_tasks_blocked()

    async def cancel(self, call: str) -> None:
        self._tasks[call].cancel()
        await asyncio.wait({self._tasks[call]})
        await anyio.wait_all_tasks_blocked()

    async def _take(self, each: PermitClaim) -> None:
        await self.permits.take(each)
        self.inside.append(each.call_id)


async def test_a_free_permit_is_taken_without_giving_up_the_loop() -> None:
    taking = Permits().take(claim("a", parallel=False, at_once=1))
    with pytest.raises(StopIteration):
        taking.send(None)


async def test_calls_of_a_tool_are_bounded_over_all_runs_in_their_order() -> None:
    queue = Queue()
    await queue.ask(*(claim(call, run=f"run_{call}", at_once=2) for call in "abcde"))
    assert queue.inside == ["a", "b"]
    await queue.give_back("b")
    assert queue.inside == ["a", "b", "c"]
    await queue.give_back("a")
    await queue.give_back("c")
    assert queue.inside == ["a", "b", "c", "d", "e"]


async def test_a_permit_belongs_to_its_call_and_is_found_again() -> None:
    queue = Queue()
    await queue.ask(claim("a", at_once=1), claim("b", at_once=1))
    await queue.permits.take(claim("a", at_once=1))
    assert (queue.permits.holds(ToolCallId("a")), queue.permits.holds(ToolCallId("b"))) == (True, False)
    await queue.give_back("a")
    assert queue.inside == ["a", "b"]


async def test_a_permit_is_given_back_once() -> None:
    queue = Queue()
    await queue.ask(claim("a", at_once=1), claim("b", at_once=1), claim("c", at_once=1))
    await queue.give_back("a")
    await queue.give_back("a")
    await queue.give_back("unknown")
    assert queue.inside == ["a", "b"]


async def test_a_call_that_runs_alone_waits_for_its_lane_and_holds_it() -> None:
    queue = Queue()
    await queue.ask(claim("a"), claim("b"), claim("alone", parallel=False), claim("c"), claim("d"))
    await queue.ask(claim("elsewhere", lane="step"), claim("of_another_run", run="run_2"))
    assert queue.inside == ["a", "b", "elsewhere", "of_another_run"]
    await queue.give_back("a")
    assert "alone" not in queue.inside
    await queue.give_back("b")
    assert queue.inside[4:] == ["alone"]
    await queue.give_back("alone")
    assert queue.inside[5:] == ["c", "d"]


async def test_who_stops_waiting_holds_nobody_up() -> None:
    queue = Queue()
    await queue.ask(claim("a", at_once=1), claim("b", at_once=1), claim("c", at_once=1))
    await queue.cancel("b")
    assert not queue.permits.holds(ToolCallId("b"))
    await queue.give_back("a")
    assert queue.inside == ["a", "c"]


async def test_who_waits_for_the_tool_and_stops_frees_its_lane() -> None:
    queue = Queue()
    await queue.ask(
        claim("a", at_once=1), claim("b", run="run_2", parallel=False, at_once=1), claim("c", run="run_2")
    )
    assert queue.inside == ["a"]
    await queue.cancel("b")
    assert queue.inside == ["a", "c"]


@pytest.mark.parametrize("parallel", [True, False])
async def test_who_is_let_in_and_cancelled_at_once_holds_nothing(parallel: bool) -> None:
    queue = Queue()
    await queue.ask(claim("a", parallel=parallel, at_once=1), claim("b", parallel=parallel, at_once=1))
    queue.permits.give_back(ToolCallId("a"))
    await queue.cancel("b")
    await queue.ask(claim("c", parallel=parallel, at_once=1))
    assert queue.inside == ["a", "c"]


@given(
    st.lists(st.tuples(st.integers(0, 2), st.booleans(), st.sampled_from([None, 1, 2])), max_size=12),
)
def test_however_they_come_and_go_everyone_gets_in(
    calls: list[tuple[int, bool, int | None]],
) -> None:
    async def run() -> None:
        queue = Queue()
        claims = [
            claim(f"call_{n}", run=f"run_{run}", parallel=parallel, at_once=at_once)
            for n, (run, parallel, at_once) in enumerate(calls)
        ]
        await queue.ask(*claims)
        for n in range(len(claims)):
            assert len(queue.inside) > n
            await queue.give_back(queue.inside[n])
        assert sorted(queue.inside) == sorted(each.call_id for each in claims)

    asyncio.run(run())
