"""A Run is run again with the model of its log, or of a recording, and goes as it went."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from psych_runtime import InMemoryStore, Record, publish
from psych_runtime.testing import (
    EffectLedger,
    FakeModel,
    RecordingClient,
    ReplayClient,
    Scenario,
    StoreProxy,
    VirtualClock,
    run_virtual,
)
from psych_runtime.testing.outside import Outside
from psych_runtime.testing.play import Cast, Pace, PlayedRun, play, played_run
from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.model import ModelClient
from psych_runtime_core.ports.runs import RunHeader
from psych_runtime_core.ports.store import Store
from psych_runtime_core.records import Entry
from psych_runtime_core.records.turn import ModelCallFinished
from tests.e2e.random_scenes import scene
from tests.e2e.scenes import ten_turns

SEEDS = 60
OF_ITS_TIME = {"at", "epoch", "worker_id", "timings", "duration_seconds"}
# What happens at one moment has no order of its own: where it stands, and moments a hair's breadth apart.
OF_ITS_PLACE = {"seq", "answer_seq", "wait_id", "retry_at", "due_at"}


class Admitting(StoreProxy):
    """Remembers how its first Run began."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.begun: list[tuple[RunHeader, Sequence[Entry]]] = []

    async def admit(self, header: RunHeader, entries: Sequence[Entry]) -> RunId:
        self.begun.append((header, entries))
        return await super().admit(header, entries)


async def first_played(scenario: Scenario) -> tuple[PlayedRun, RunHeader]:
    """The Run of a scenario, and its header as it began."""
    store = Admitting(InMemoryStore(clock=VirtualClock()))
    played = await play(scenario, store, Pace())
    return played.runs[0], store.begun[0][0]


async def played_again(
    scenario: Scenario, first: PlayedRun, header: RunHeader, model: ModelClient
) -> PlayedRun:
    """The same Run from its first record on, with `model`."""
    store, ledger = InMemoryStore(clock=VirtualClock()), EffectLedger()
    await publish(store, scenario.spec)
    await store.admit(header, first.entries[:1])
    world = asyncio.gather(Outside(scenario, store, header.run_id, lambda _taken: None).live())
    cast = Cast(scenario, store, model, ledger.wrap(scenario.registry()), Pace(), lambda _head: None)
    await cast.drive(world, [header.run_id])
    return await played_run(store, header.run_id, ())


def timeless(record: Record) -> dict[str, Any]:
    """A record but for what is of its time."""
    fields = record.model_dump(exclude=OF_ITS_TIME)
    if fields.get("failure"):
        fields["failure"].pop("traceback")
    return fields


def in_any_order(run: PlayedRun) -> Counter[str]:
    """The records of a Run but for what is of their time and place."""
    told = ([(k, v) for k, v in timeless(record).items() if k not in OF_ITS_PLACE] for record in run.records)
    return Counter(map(repr, told))


def with_the_model_of_its_log(scenario: Scenario) -> tuple[PlayedRun, PlayedRun]:
    """A Run, and the same Run again."""
    first, header = run_virtual(lambda: first_played(scenario))
    model = FakeModel.from_log(first.records, clock=VirtualClock())
    again = run_virtual(lambda: played_again(scenario, first, header, model))
    model.assert_exhausted()
    return first, again


def test_a_run_with_the_model_of_its_log_writes_the_same_log() -> None:
    first, again = with_the_model_of_its_log(ten_turns())
    assert list(map(timeless, again.records)) == list(map(timeless, first.records))


@pytest.mark.parametrize("seed", range(SEEDS))
def test_whatever_happens_a_run_with_the_model_of_its_log_writes_equal_records(seed: int) -> None:
    first, again = with_the_model_of_its_log(scene(seed))
    assert in_any_order(again) == in_any_order(first)


def test_the_runs_are_of_all_kinds() -> None:
    runs = [run_virtual(partial(first_played, scene(seed)))[0] for seed in range(SEEDS)]
    types = {record.type for run in runs for record in run.records}
    assert {"model_call_failed", "suspended", "queue_consumed", "abort_requested"} <= types
    assert {run.header.terminal for run in runs} >= {"completed", "failed", "aborted"}


def test_another_run_of_a_recorded_agent_asks_for_what_was_recorded(tmp_path: Path) -> None:
    """Its ids are others, and so are those of its calls."""
    path = tmp_path / "calls.jsonl"
    scenario = ten_turns()
    recorded = replace(scenario, model=lambda: RecordingClient(scenario.model(), path))
    first, _ = run_virtual(lambda: first_played(recorded))
    replay = ReplayClient(path)
    again, _ = run_virtual(lambda: first_played(replace(scenario, model=lambda: replay)))
    replay.assert_exhausted()
    assert first.header.run_id != again.header.run_id
    assert answer(first) == answer(again) != ""


def answer(run: PlayedRun) -> str:
    return [record.text for record in run.records if isinstance(record, ModelCallFinished)][-1]
