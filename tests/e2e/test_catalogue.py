"""In which order tools are listed to a model: none ever moves, whoever drives the Run."""

from collections.abc import Sequence

from psych_runtime import AllowAll, Scope, Store
from psych_runtime.testing import FakeModel
from tests.e2e.stage import agent, at_work, begun, ended, registered, seen

NAMES = ("ask", "buy", "zip")


class Changing(AllowAll):
    """Permits other tools in each turn; what it says is asked for at each call too."""

    def __init__(self, model: FakeModel, *turns: Sequence[str]) -> None:
        self._model, self._turns = model, turns

    async def permitted_tools(self, scope: Scope, source: str | None) -> Sequence[str] | None:
        del scope, source
        return self._turns[min(len(self._model.calls), len(self._turns) - 1)]


async def ask() -> str:
    """Asks."""
    return "asked"


async def buy() -> str:
    """Buys."""
    return "bought"


async def zip() -> str:
    """Zips."""
    return "zipped"


def listed(model: FakeModel) -> list[list[str]]:
    return [[tool.name for tool in request.tools] for request in model.requests]


def calling(turns: int) -> FakeModel:
    return FakeModel().turn(tool_calls=[("zip", {})], times=turns).turn("Done.")


async def test_a_tool_that_comes_later_is_listed_last_and_one_that_comes_back_in_its_place(
    store: Store,
) -> None:
    model = calling(4)
    policy = Changing(model, ["zip"], ["zip", "buy"], ["buy", "zip", "ask"], ["ask", "zip"], NAMES)
    async with at_work(store, model, registered(ask, buy, zip), runtime={"policy": policy}):
        await ended(store, await begun(store, agent(*NAMES)))
    assert listed(model)[:5] == [
        ["zip"],
        ["zip", "buy"],
        ["zip", "buy", "ask"],
        ["zip", "ask"],
        ["zip", "buy", "ask"],
    ]


async def test_the_next_worker_lists_them_as_the_last_one_did(store: Store) -> None:
    model = calling(4)
    policy = Changing(model, ["zip"], ["zip", "buy"], NAMES)
    tools = registered(ask, buy, zip, safe_to_retry=True)
    run_id = await begun(store, agent(*NAMES))
    async with at_work(store, model, tools, runtime={"policy": policy}):
        await seen(store, run_id, lambda state: state.lanes[""].turn == 3)
    async with at_work(store, model, tools, runtime={"policy": policy}):
        await ended(store, run_id)
    assert listed(model)[-1] == ["zip", "buy", "ask"]
    assert listed(model)[0] == ["zip"]
