"""Messages sent to a Run: none that was acknowledged is lost, none is read twice, whatever happens."""

import asyncio
from collections.abc import Sequence

import pytest

from psych_runtime import (
    Head,
    InMemoryStore,
    RunAlreadySettled,
    RunId,
    Store,
    interrupt,
    records,
    send,
)
from psych_runtime.testing import FakeModel, Scenario, StoreProxy, VirtualClock, crash_everywhere, say
from psych_runtime_core.messages import UserMessage
from psych_runtime_core.ports.writes import Append, Write
from psych_runtime_core.records.queue import QueueConsumed, QueueEnqueued
from tests.e2e.scenes import at_turn
from tests.e2e.stage import agent, at_work, begun, ended, in_virtual_time, only, registered, types


def heard(model: FakeModel) -> list[str]:
    """What the model was told by people in its last request."""
    return [each.text for each in model.last_request.messages if isinstance(each, UserMessage)]


class Interposed(StoreProxy):
    """Does something right before the commit whose last record is of this type."""

    def __init__(self, store: Store, last: str, times: int = 1) -> None:
        super().__init__(store)
        self._last, self._left = last, times
        self.acknowledged: list[str] = []

    async def commit(self, writes: Sequence[Write]) -> tuple[Head, ...]:
        for write in writes:
            ours = isinstance(write, Append) and write.lease is not None
            if ours and self._left and [entry.type for entry in write.entries][-1:] == [self._last]:
                self._left -= 1
                await self._send(write.run_id)
        return await super().commit(writes)

    async def _send(self, run_id: RunId) -> None:
        text = f"And {self._left} more."
        await send(self._store, run_id, message=text)
        self.acknowledged.append(text)


@pytest.mark.parametrize("times", [1, 2, 5])
async def test_a_message_that_lands_while_the_run_settles_gets_its_turn(store: Store, times: int) -> None:
    model = FakeModel().turn("Answer.").repeat()
    between = Interposed(store, "run_settled", times)
    async with at_work(between, model):
        run_id = await begun(store, agent())
        state = await ended(store, run_id)
    assert state.terminal_state == "completed"
    assert set(between.acknowledged) <= set(heard(model))
    assert len(only(QueueConsumed, await records(store, run_id))) >= times
    assert not state.queue


@pytest.mark.parametrize("last", ["tool_call_started", "model_call_started", "suspended"])
async def test_a_message_may_land_before_any_commit(store: Store, last: str) -> None:
    async def note(text: str) -> str:
        """Write it down."""
        return text

    model = FakeModel().turn(tool_calls=[("note", {"text": "a"})]).turn("Answer.").repeat()
    between = Interposed(store, last)
    async with at_work(between, model, registered(note)):
        run_id = await begun(store, agent("note"))
        await ended(store, run_id)
    assert set(between.acknowledged) <= set(heard(model))


async def test_many_senders_at_once_are_all_heard_once(store: Store) -> None:
    async def note(text: str) -> str:
        """Write it down."""
        await asyncio.sleep(0.02)
        return text

    model = FakeModel()
    for turn in range(20):
        model.turn(tool_calls=[("note", {"text": str(turn)})])
    model.turn("Answer.").repeat()
    acknowledged: list[str] = []

    async def speak(run_id: RunId, number: int) -> None:
        for word in range(3):
            text = f"{number}.{word}"
            try:
                await send(store, run_id, message=text, key=text, queue=["steer", "follow_up"][number % 2])
            except RunAlreadySettled:
                return
            acknowledged.append(text)

    async with at_work(store, model, registered(note)):
        run_id = await begun(store, agent("note"))
        await asyncio.gather(*(speak(run_id, number) for number in range(10)))
        state = await ended(store, run_id)
    assert state.terminal_state == "completed"
    sent = [each.payload["message"] for each in only(QueueEnqueued, await records(store, run_id))]
    ours = [text for text in sent if text != "A word from outside."]
    assert sorted(map(str, ours)) == sorted(acknowledged)
    assert len(acknowledged) > 5
    told = heard(model)
    assert all(told.count(text) == 1 for text in acknowledged)


async def test_one_key_is_one_message(store: Store) -> None:
    run_id = await begun(store, agent())
    ids = await asyncio.gather(*(send(store, run_id, message="Once.", key="k") for _ in range(8)))
    assert len(set(ids)) == 1
    async with at_work(store, FakeModel().turn("Answer.")):
        await ended(store, run_id)
    sent = [
        each
        for each in only(QueueEnqueued, await records(store, run_id))
        if each.payload["message"] == "Once."
    ]
    assert len(sent) == 1


async def test_a_follow_up_waits_for_the_answer_and_a_steer_does_not(store: Store) -> None:
    async def note(text: str) -> str:
        """Write it down."""
        return text

    model = FakeModel().turn(tool_calls=[("note", {"text": "a"})]).turn("First.").turn("Second.").repeat()
    run_id = await begun(store, agent("note"))
    await send(store, run_id, message="Afterwards.", queue="follow_up")
    await send(store, run_id, message="At once.")
    async with at_work(store, model, registered(note)):
        await ended(store, run_id)
    first, last = model.requests[0], model.last_request
    assert [each.text for each in first.messages if isinstance(each, UserMessage)][1] == "At once."
    assert "Afterwards." not in str(first.messages)
    assert str(last.messages).count("Afterwards.") == 1


async def test_nothing_sent_after_an_abort_is_taken(store: Store) -> None:
    run_id = await begun(store, agent())
    await interrupt(store, run_id)
    with pytest.raises(RunAlreadySettled):
        await send(store, run_id, message="Too late.")
    async with at_work(store, FakeModel()):
        await ended(store, run_id)
    assert "queue_enqueued" not in (await types(store, run_id))[2:]


async def take_note(text: str) -> str:
    """Write it down."""
    await asyncio.sleep(0.5)
    return text


def test_what_people_were_told_is_taken_survives_a_crash_at_every_point() -> None:
    scenario = Scenario(
        spec=agent("take_note"),
        tools=lambda: registered(take_note, safe_to_retry=True),
        model=lambda: (
            FakeModel()
            .turn(tool_calls=[("take_note", {"text": "a"})])
            .turn(tool_calls=[("take_note", {"text": "b"})])
            .turn("Answer.")
            .repeat()
        ),
        acts=tuple(say(f"at turn {turn}", at_turn(turn)) for turn in (1, 2, 3)),
    )
    report = crash_everywhere(scenario)
    assert report.unknown == ()


@in_virtual_time
async def test_five_hundred_steers_a_second_do_not_stop_a_worker() -> None:
    store = InMemoryStore(clock=VirtualClock())
    model = FakeModel().turn(tool_calls=[("take_note", {"text": "a"})]).turn("Answer.").repeat()
    async with at_work(store, model, registered(take_note)):
        run_id = await begun(store, agent("take_note"))

        async def speak() -> None:
            for number in range(500):
                await send(store, run_id, message=str(number))
                await asyncio.sleep(0.002)

        speaking = asyncio.create_task(speak())
        await asyncio.wait({speaking}, timeout=5)
        speaking.cancel()
        state = await ended(store, run_id)
    assert state.terminal_state == "completed"
    assert not state.queue
