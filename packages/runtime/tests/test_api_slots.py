"""Who holds a slot, who waits in one, and when waiting would be for ever."""

from contextlib import ExitStack

import pytest

from psych_runtime import NoFreeSlot, RunId
from psych_runtime.worker.slots import Slots, current_slots

A, B, C, D = map(RunId, "ABCD")


def seated(slots: Slots, *runs: RunId) -> ExitStack:
    stack = ExitStack()
    for run in runs:
        stack.enter_context(slots.seat(run))
    return stack


def test_while_a_slot_is_free_a_run_may_be_awaited() -> None:
    slots = Slots(2)
    with seated(slots, A), slots.awaiting(None) as awaited:
        awaited.run_id = B


@pytest.mark.parametrize("run_id", [None, B], ids=["to be dispatched", "dispatched"])
def test_when_no_slot_is_free_waiting_is_refused(run_id: RunId | None) -> None:
    slots = Slots(2)
    with seated(slots, A, C), pytest.raises(NoFreeSlot) as refused, slots.awaiting(run_id):
        pass
    assert (refused.value.run_id, refused.value.concurrency) == (run_id, 2)


@pytest.mark.parametrize("first", [None, B], ids=["to be dispatched", "dispatched"])
def test_of_two_that_wait_for_the_last_slot_the_second_is_refused(first: RunId | None) -> None:
    slots = Slots(2)
    with seated(slots, A), slots.awaiting(first), pytest.raises(NoFreeSlot), slots.awaiting(D):
        pass


def test_two_that_wait_for_one_run_need_one_slot() -> None:
    slots = Slots(2)
    with seated(slots, A), slots.awaiting(B), slots.awaiting(B):
        pass


def test_a_run_that_has_a_slot_needs_no_other() -> None:
    slots = Slots(2)
    with seated(slots, A, B), slots.awaiting(B):
        pass


def test_a_run_that_got_the_slot_kept_for_it_leaves_none() -> None:
    slots = Slots(3)
    with seated(slots, A), slots.awaiting(B), seated(slots, B):
        with slots.awaiting(C):
            pass
        with seated(slots, D), pytest.raises(NoFreeSlot), slots.awaiting(C):
            pass


def test_who_waits_no_more_keeps_no_slot() -> None:
    slots = Slots(2)
    with seated(slots, A):
        with pytest.raises(KeyError), slots.awaiting(None):
            raise KeyError
        with slots.awaiting(None):
            pass


def test_a_slot_that_is_given_back_is_free() -> None:
    slots = Slots(2)
    with seated(slots, A):
        with seated(slots, C):
            pass
        with slots.awaiting(B):
            pass


def test_code_in_a_slot_finds_the_slots_it_holds_one_of() -> None:
    outer, inner = Slots(1), Slots(1)
    assert current_slots.get() is None
    with outer.seat(A):
        assert current_slots.get() is outer
        with inner.seat(B):
            assert current_slots.get() is inner
        assert current_slots.get() is outer
    assert current_slots.get() is None
