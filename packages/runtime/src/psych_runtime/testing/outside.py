"""The world around a Run: the people who answer it, and those who send messages or stop it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import anyio
import anyio.abc

from psych_runtime.api.answers import Answer
from psych_runtime.api.log import LogReader
from psych_runtime.api.resume import resume_all
from psych_runtime.api.send import interrupt, send
from psych_runtime.testing.scenario import Act, Later, Scenario
from psych_runtime_core.errors import RunAlreadySettled, SuspensionExpired, WaitNotFound
from psych_runtime_core.ids import RunId, WaitId, derive_entry_id
from psych_runtime_core.ports.store import Store
from psych_runtime_core.records import Record
from psych_runtime_core.state.fold import apply, empty

# A hint is never the truth: the log is looked at again after so many seconds.
LOOK_AGAIN_SECONDS = 30.0
TOO_LATE = (RunAlreadySettled, SuspensionExpired, WaitNotFound)


class Outside:
    """Lives beside one Run until it settles, whoever drives it.

    It reads the log alone, and what it does it would do again to no effect, so another one may go on where
    it died. `on_acknowledged` is told the id of each entry and Wait once the store has taken it.
    """

    def __init__(
        self, scenario: Scenario, store: Store, run_id: RunId, on_acknowledged: Callable[[str], None]
    ) -> None:
        self._on_acknowledged = on_acknowledged
        self._scenario, self._store, self._run_id = scenario, store, run_id
        self._state = empty(run_id)
        self._asked: set[WaitId] = set()
        self._acts = dict(enumerate(scenario.acts))

    async def live(self) -> None:
        """Answer, send and stop, until the Run settles."""
        header = await self._store.get_run(self._run_id)
        reader = LogReader(self._store, header)
        async with self._store.changes([self._run_id]) as watch, anyio.create_task_group() as people:
            while self._state.settled is None:
                while page := await reader.records():
                    for record in page:
                        await self._see(record, people)
                if self._state.settled is None:
                    await watch.wait(LOOK_AGAIN_SECONDS)
            people.cancel_scope.cancel()

    async def _see(self, record: Record, people: anyio.abc.TaskGroup) -> None:
        apply(self._state, record)
        for number, act in list(self._acts.items()):
            if act.when(self._state):
                del self._acts[number]
                await self._act(number, act)
        for wait in self._state.open_waits:
            if wait.wait_id in self._asked:
                continue
            self._asked.add(wait.wait_id)
            said = self._scenario.people(wait)
            if isinstance(said, Later):
                people.start_soon(self._answer_later, wait.wait_id, said)
            elif said is not None:
                await self._answer(wait.wait_id, said)

    async def _answer_later(self, wait_id: WaitId, said: Later) -> None:
        await self._store.clock.sleep(said.seconds)
        await self._answer(wait_id, said.answer)

    async def _answer(self, wait_id: WaitId, answer: Answer) -> None:
        with suppress(*TOO_LATE):
            await resume_all(self._store, self._run_id, {wait_id: answer})
            self._on_acknowledged(wait_id)

    async def _act(self, number: int, act: Act) -> None:
        with suppress(RunAlreadySettled):
            if act.text is None:
                await interrupt(self._store, self._run_id)
                return
            key = f"act {number}"
            await send(self._store, self._run_id, message=act.text, queue=act.queue, key=key)
            self._on_acknowledged(derive_entry_id(self._run_id, key))
