"""A probe says whether a call took effect; what is no answer is unknown."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from packages.runtime.tests.tools_made import CONTEXT, registered
from psych_runtime.tools.context import ToolContext
from psych_runtime.tools.ending import Raised, Returned, Unheard
from psych_runtime.tools.invoke import CodeRun
from psych_runtime.tools.probe import Probed, ProbeState, probed

DONE, UNKNOWN = Probed(ProbeState.DONE, {"done": True}), Probed(ProbeState.UNKNOWN)


@pytest.mark.parametrize("passes_key_on", [True, False])
@pytest.mark.parametrize(
    ("ending", "found"),
    [
        (Returned("done"), DONE),
        (Returned(ProbeState.DONE), DONE),
        (Returned(Probed("done")), DONE),
        (Returned(Probed("done", [1])), Probed(ProbeState.DONE, [1])),
        (Returned(Probed("done", 0)), Probed(ProbeState.DONE, 0)),
        (Returned("unknown"), UNKNOWN),
        (Returned("finished"), UNKNOWN),
        (Returned(None), UNKNOWN),
        (Returned(True), UNKNOWN),
        (Returned([]), UNKNOWN),
        (Raised(ValueError()), UNKNOWN),
        (Raised(asyncio.CancelledError()), UNKNOWN),
        (Unheard(), UNKNOWN),
    ],
    ids=repr,
)
def test_an_answer_is_read(ending: Any, found: Probed, passes_key_on: bool) -> None:
    assert probed(ending, passes_key_on=passes_key_on) == found


@pytest.mark.parametrize("ending", [Returned("not_done"), Returned(Probed("not_done", 5))], ids=repr)
def test_not_done_counts_only_of_a_tool_that_passes_its_key_on(ending: Returned) -> None:
    assert probed(ending, passes_key_on=True) == Probed(ProbeState.NOT_DONE)
    assert probed(ending, passes_key_on=False) == UNKNOWN


async def with_key(key: str) -> str:
    return key


async def with_context(context: ToolContext, the_key: str) -> tuple[str, ToolContext]:
    return the_key, context


class Service:
    async def __call__(self, key: Any, /) -> str:
        return str(key)


@pytest.mark.parametrize(
    ("probe", "answer"),
    [
        pytest.param(with_key, "idem_1", id="with the key"),
        pytest.param(with_context, ("idem_1", CONTEXT), id="with a context too"),
        pytest.param(Service(), "idem_1", id="an object"),
    ],
)
async def test_a_probe_is_asked_with_the_key(probe: Any, answer: object) -> None:
    tool = registered(with_key, probe=probe)
    assert tool.probe is probe
    code = tool.bind_probe(CONTEXT.idempotency_key, CONTEXT)
    assert code is not None
    assert await CodeRun(code, threads=None, context=CONTEXT).wait() == Returned(answer)


async def test_a_probe_can_be_cut() -> None:
    async def forever(key: str) -> str:
        await asyncio.Event().wait()
        return "done"

    code = registered(with_key, probe=forever).bind_probe("idem_1", CONTEXT)
    assert code is not None
    run = CodeRun(code, threads=None, context=None)
    await run.began.wait()
    run.cut()
    assert probed(await run.wait(), passes_key_on=True) == UNKNOWN


async def test_a_tool_without_a_probe_has_nothing_to_ask() -> None:
    assert registered(with_key).bind_probe("idem_1", CONTEXT) is None
