"""The ledger holds what tools really did, past any crash."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest

from psych_runtime import RunId, Scope, ToolCallId, ToolContext, ToolRegistry
from psych_runtime.testing import EffectLedger, FakeClock, Invocation
from psych_runtime.testing.clock import START
from psych_runtime.tools.problem import Problem
from psych_runtime_core.ids import content_digest


def context(call: int = 1, run_number: int = 1) -> ToolContext:
    return ToolContext(
        scope=Scope(tenant="acme"),
        run_id=RunId("run_1"),
        call_id=ToolCallId(f"call_{call}"),
        tool="act",
        run_number=run_number,
        idempotency_key="idem",
    )


def tools() -> ToolRegistry:
    registry = ToolRegistry()

    @registry.register
    async def act(name: str, times: int = 2) -> str:
        """Do something."""
        await asyncio.sleep(0)
        if name == "fail":
            raise LookupError(name)
        return name * times

    @registry.register
    def block(name: str) -> object:
        """Do something in a thread."""
        return object() if name == "odd" else name

    return registry


async def ran(registry: ToolRegistry, name: str, call: int = 1, tool: str = "act") -> object:
    """What a call of the tool gives, bound as a Worker binds it."""
    registered = registry.require(tool)
    values = registered.validate({"name": name})
    assert not isinstance(values, Problem)
    done = registered.bind(values, context(call))()
    return await done if asyncio.iscoroutine(done) else done


@pytest.fixture(params=["memory", "file"])
def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> EffectLedger:
    return EffectLedger(tmp_path / "ledger" if request.param == "file" else None, clock=FakeClock())


async def test_a_run_is_written_down_with_what_it_was_given_and_gave(ledger: EffectLedger) -> None:
    assert await ran(ledger.wrap(tools()), "a") == "aa"
    assert ledger.invocations == (
        Invocation(
            run_id=RunId("run_1"),
            call_id=ToolCallId("call_1"),
            tool="act",
            run_number=1,
            arguments_digest=content_digest(b"", {"name": "a"}),
            began_at=START.isoformat(),
            finished_at=START.isoformat(),
            result_digest=content_digest(b"", "aa"),
        ),
    )


async def test_what_a_tool_raises_is_raised_and_named(ledger: EffectLedger) -> None:
    with pytest.raises(LookupError):
        await ran(ledger.wrap(tools()), "fail")
    (done,) = ledger.invocations
    assert (done.error, done.result_digest) == ("LookupError", None)
    assert done.finished_at is not None


async def test_a_result_that_is_no_json_has_no_digest(ledger: EffectLedger) -> None:
    await ran(ledger.wrap(tools()), "odd", tool="block")
    (done,) = ledger.invocations
    assert (done.error, done.result_digest) == (None, None)
    assert done.finished_at is not None


async def test_what_is_under_way_has_no_end(ledger: EffectLedger) -> None:
    running = asyncio.create_task(_task(ledger.wrap(tools())))
    await asyncio.sleep(0)
    assert [each.finished_at for each in ledger.invocations] == [None]
    await running


async def _task(registry: ToolRegistry) -> None:
    await ran(registry, "a")


async def test_runs_stand_in_the_order_in_which_they_began(ledger: EffectLedger) -> None:
    registry = ledger.wrap(tools())
    await asyncio.gather(*(ran(registry, str(call), call) for call in range(5)))
    assert [each.call_id for each in ledger.invocations] == [f"call_{call}" for call in range(5)]


async def test_wrapping_changes_no_tool(ledger: EffectLedger) -> None:
    registry = tools()
    wrapped = ledger.wrap(ledger.wrap(registry))
    assert wrapped.names == registry.names
    assert wrapped.definitions() == registry.definitions()
    assert wrapped.require("block").is_async is False
    assert isinstance(wrapped.require("act").validate({"name": 3}), Problem)
    assert "nothing" not in wrapped
    await ran(wrapped, "a")
    assert len(ledger.invocations) == 2


async def test_tools_that_are_registered_later_are_written_down_too(ledger: EffectLedger) -> None:
    registry = ToolRegistry()
    wrapped = ledger.wrap(registry)
    registry.register(tools().require("act").fn)
    await ran(wrapped, "a")
    assert len(ledger.invocations) == 1


CHILD = """
import asyncio, os, signal, sys
sys.path[:0] = sys.argv[2:]
from psych_runtime.testing import EffectLedger
from packages.runtime.tests.test_ledger import ran, tools

async def main():
    registry = EffectLedger(sys.argv[1]).wrap(tools())
    await ran(registry, "a", 1)
    tool = registry.require("act")
    running = asyncio.create_task(ran(registry, "b", 2))
    await asyncio.sleep(0)
    os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(main())
"""


def test_it_outlives_a_killed_process(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    died = subprocess.run([sys.executable, "-c", CHILD, str(path), *sys.path], check=False)
    assert died.returncode == -9
    first, second = EffectLedger(path).invocations
    assert first.finished_at is not None
    assert (second.call_id, second.finished_at) == ("call_2", None)
    assert all(json.loads(line) for line in path.read_text().splitlines())
