"""Values that take their time, frozen beside the loop: the leases of other Runs are kept meanwhile."""

import threading
from collections.abc import Callable

import pytest

from packages.runtime.tests.http_scenes import Calls, http_tool
from psych_runtime import AgentSpec, CodeTool, ModelRef, ToolRegistry, records, session
from psych_runtime.testing import FakeModel, HttpStub, Reply
from psych_runtime.tools.lines import lines_of
from psych_runtime_core import frozen
from psych_runtime_core.jsonvalue import Json, encode_json
from psych_runtime_core.records.tool import ToolCallFinished

SMALL: list[dict[str, int]] = [{"a": number} for number in range(100)]
# Not even a record holds it: what a record has is frozen where it is made.
LARGE: list[dict[str, int]] = [{"a": number} for number in range(50_000)]
SIZES = pytest.mark.parametrize(
    ("value", "beside"), [pytest.param(SMALL, False, id="small"), pytest.param(LARGE, True, id="large")]
)


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> set[threading.Thread]:
    """The threads in which lists of objects were frozen."""
    threads = set[threading.Thread]()
    freeze: Callable[[object, bool, int], Json] = getattr(frozen, "_freeze")  # noqa: B009 - what all freezing goes through is private

    def noted(value: object, surrogates: bool, depth: int) -> Json:
        if isinstance(value, list) and value and isinstance(value[0], dict):
            threads.add(threading.current_thread())
        return freeze(value, surrogates, depth)

    monkeypatch.setattr(frozen, "_freeze", noted)
    return threads


def is_beside(threads: set[threading.Thread]) -> bool:
    (thread,) = threads
    return thread is not threading.main_thread()


@SIZES
async def test_the_reply_of_an_http_tool(
    stub: HttpStub, threads: set[threading.Thread], value: Json, beside: bool
) -> None:
    stub.on("GET", "/a", Reply(json=value))
    assert await Calls(http_tool(stub)).result() == value
    assert is_beside(threads) == beside


@SIZES
async def test_what_a_function_returns(threads: set[threading.Thread], value: object, beside: bool) -> None:
    registry = ToolRegistry()

    async def look() -> object:
        """Looks."""
        return value

    registry.register(look)
    spec = AgentSpec(name="a", model=ModelRef(model="m"), tools=(CodeTool(name="look"),))
    async with session(FakeModel().turn(tool_calls=[("look", {})]).turn("done"), registry=registry) as psych:
        answer = await psych.ask(spec, "hello")
        found = await records(psych.store, answer.run_id)
    (end,) = (record for record in found if isinstance(record, ToolCallFinished))
    assert end.result_bytes == len(encode_json(value))
    assert is_beside(threads) == beside


@SIZES
async def test_the_lines_of_what_was_kept(
    threads: set[threading.Thread], value: object, beside: bool
) -> None:
    lines = await lines_of(encode_json(value), "application/json")
    assert lines is not None
    assert lines[1] == "  {"
    assert is_beside(threads) == beside
