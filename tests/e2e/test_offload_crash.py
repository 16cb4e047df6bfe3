"""A Worker that dies around its blobs loses nothing and doubles nothing; Runs take their blobs along."""

import itertools
import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from psych_runtime import (
    AgentSpec,
    FilesystemBlobStore,
    InMemoryStore,
    ModelRef,
    RunId,
    RunQuery,
    Store,
    export_run,
    import_run,
    open_store,
    purge,
    report,
)
from psych_runtime.testing import FakeModel, FakeTurn, Scenario, crash_everywhere
from psych_runtime.testing.play import Pace, play
from psych_runtime.testing.switch import Switch
from psych_runtime.tools.output import File, ToolOutput
from psych_runtime.tools.registry import ToolRegistry
from psych_runtime_core.ids import HANDLE
from psych_runtime_core.ports.blob import BlobStore, blobs_of
from psych_runtime_core.ports.model import ModelCallContext, ModelRequest
from psych_runtime_core.spec.tools import CodeTool
from tests.e2e.kept_results import giving, pages_told, reading, results_told
from tests.e2e.stage import ACME, at_work, begun, ended, results

ROWS = [f"row {number}: {'x' * 20}" for number in range(20_000)]
CHART = File("chart.png", "image/png", b"\x89PNG" * 10_000)


def registry() -> ToolRegistry:
    tools = ToolRegistry()

    @tools.register(annotations="read-only")
    async def look() -> list[str]:
        """Gives all rows."""
        return ROWS

    @tools.register
    async def draw() -> ToolOutput:
        """Draws them."""
        return ToolOutput("\n".join(ROWS), (CHART,))

    return tools


def read(request: ModelRequest, context: ModelCallContext) -> FakeTurn:
    del context
    handles = [found[0] for text in results_told(request) if (found := HANDLE.findall(text))]
    windows = [{"handle": handle, "pattern": "row 777:"} for handle in handles]
    return FakeTurn(tool_calls=[("read_tool_output", window) for window in windows])


def tell(request: ModelRequest, context: ModelCallContext) -> str:
    """All that was said and read, but for handles, which are each Run's own."""
    del context
    pages = [(page["total_lines"], page["matches"][0]["text"]) for page in pages_told(request)]
    return f"{pages} {[len(HANDLE.sub('', text)) for text in results_told(request)]}"


def model() -> FakeModel:
    return FakeModel().turn(tool_calls=[("look", {}), ("draw", {})]).turn(read).turn(tell)


SCENARIO = Scenario(
    spec=AgentSpec(
        name="clerk",
        model=ModelRef(model="fake-1", accepts=("image",)),
        tools=(CodeTool(name="look"), CodeTool(name="draw")),
    ),
    tools=registry,
    model=model,
    input="Look and draw.",
)


def test_a_crash_at_any_call_of_a_port_loses_and_doubles_nothing() -> None:
    crashed = crash_everywhere(SCENARIO)
    assert crashed.points > 40
    # A drawing is not safe to be made again, and is unknown where it was cut before its record.
    assert 0 < len(crashed.unknown) < crashed.points / 2
    assert any("blob put" in point for point in crashed.unknown)


def test_a_crash_at_any_step_loses_and_doubles_nothing() -> None:
    assert crash_everywhere(SCENARIO, at="awaits", limit=60).points == 60


@asynccontextmanager
async def a_file() -> AsyncGenerator[Store]:
    with tempfile.TemporaryDirectory() as folder:
        async with open_store(f"sqlite:///{folder}/psych.db", migrate=True) as store:
            yield store


@pytest.mark.parametrize("around", ["before blob put", "after blob put"])
async def test_a_crash_around_a_blob_of_a_store_on_disk(around: str, tmp_path: Path) -> None:
    for blobs in (None, FilesystemBlobStore(tmp_path / "blobs")):
        scenario = SCENARIO if blobs is None else replaced(blobs)
        async with a_file() as store:
            switch = Around(around)
            played = await play(scenario, store, Pace(1.0, poll=0.2, patience=60.0), switch)
            assert switch.where == around
            (run,) = played.runs
            assert run.header.terminal == "completed"
            found = await names_of(blobs or blobs_of(store), run.header.run_id)
            assert {name.split(".")[1] for name in found} <= {"1", "2"}
            await recorded_blobs_are_there(store, blobs or blobs_of(store), run.header.run_id)


class Around(Switch):
    """Kills at the first call of this name."""

    def __init__(self, name: str) -> None:
        super().__init__("commits")
        self._name = name

    def gate(self, name: str) -> None:
        if name == self._name and not self.dead:
            self.kill_at = self.points
        super().gate(name)


def replaced(blobs: BlobStore) -> Scenario:
    return Scenario(SCENARIO.spec, registry, model, SCENARIO.input, runtime={"blobs": blobs})


async def recorded_blobs_are_there(store: Store, blobs: BlobStore | None, run_id: RunId) -> None:
    """Every blob that a record names is whole, under the epoch of whoever wrote that record."""
    assert blobs is not None
    page = await blobs.list(ACME.tenant, run_id)
    kept = {key.call_id: known for key, known in page.items}
    for end in await results(store, run_id):
        if end.result_blob_key is not None:
            assert end.result_blob_key == f"{end.call_id}.{end.epoch}"
            assert kept[end.result_blob_key].size == end.result_bytes
        for slot, file in enumerate(end.attachments):
            assert kept[f"{end.call_id}.{end.epoch}.{slot}"].sha256 == file.sha256


async def names_of(blobs: BlobStore | None, run_id: RunId | None = None) -> list[str]:
    assert blobs is not None
    page = await blobs.list(ACME.tenant, run_id)
    return [key.call_id for key, _ in page.items]


# --- purge, export, import -------------------------------------------------------------------------------


async def kept_run(store: Store, value: object) -> RunId:
    async with at_work(store, reading({"limit": 1}), giving(value)):
        run_id = await begun(
            store, AgentSpec(name="c", model=ModelRef(model="m"), tools=(CodeTool(name="give"),))
        )
        await ended(store, run_id)
    return run_id


async def test_a_purge_leaves_no_blob(store: Store) -> None:
    blobs = blobs_of(store)
    first, second = [await kept_run(store, ToolOutput(ROWS, (CHART,))) for _ in range(2)]
    assert len(await names_of(blobs)) == 4
    with pytest.raises(ValueError, match="blobs="):
        await purge(store, query=RunQuery(run_ids=frozenset({first})))
    assert await purge(store, query=RunQuery(run_ids=frozenset({first})), blobs=blobs) == 1
    assert len(await names_of(blobs, second)) == len(await names_of(blobs)) == 2
    assert await purge(store, query=RunQuery(tenant=ACME.tenant), blobs=blobs) == 1
    assert await names_of(blobs) == []


async def test_an_export_carries_blobs_to_another_store(store: Store) -> None:
    run_id = await kept_run(store, ToolOutput(ROWS, (CHART,)))
    lines = [line async for line in export_run(store, run_id, blobs=blobs_of(store))]
    async with InMemoryStore() as other:
        assert await import_run(other, _lines(lines), blobs=other.blobs) == run_id
        await recorded_blobs_are_there(other, other.blobs, run_id)
        assert (await other.get_run(run_id)).blobs
        assert await report(other, run_id) == await report(store, run_id)
        again = [line async for line in export_run(other, run_id, blobs=other.blobs)]
    assert again == lines


async def _lines(lines: list[bytes]) -> AsyncGenerator[bytes]:
    for line in itertools.chain(lines):
        yield line
