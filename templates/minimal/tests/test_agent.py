"""What this agent promises, on a scripted model."""

import asyncio
import os
import sys
from pathlib import Path

import pytest
from psych_runtime import ToolOutcome, answer, open_store, report, session
from psych_runtime.testing.fake_model import FakeModel

from psychproject.agent import SPEC, TOOLS, scripted_model

MAIN = Path(__file__).resolve().parents[1] / "main.py"


@pytest.fixture
def anyio_backend() -> str:
    """The event loop that tests run on."""
    return "asyncio"


async def test_it_looks_the_order_up_and_answers() -> None:
    async with session(scripted_model(), tools=TOOLS) as psych:
        view = await psych.ask(SPEC, "where is order A1?")
    assert view.result() == "Order A1 has shipped."
    (call,) = [call for turn in view.work for call in turn.tool_calls]
    assert call.arguments == {"order_id": "A1"}
    assert call.result == {"order_id": "A1", "status": "shipped"}


async def test_another_process_reads_the_settled_run_from_the_same_file(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'runs.db'}"
    said = await run_main({"PSYCH_STORE_URL": url})
    run_id = said.splitlines()[-1].split()[2]
    async with open_store(url) as store:
        assert (await answer(store, run_id)).result() == "Order A1 has shipped."


async def test_a_tool_that_raises_is_data_for_the_model() -> None:
    model = FakeModel().turn(tool_calls=[("lookup_order", {"order_id": "Z9"})]).turn("I know no order Z9.")
    async with session(model, tools=TOOLS) as psych:
        view = await psych.ask(SPEC, "where is order Z9?")
        calls = (await report(psych.store, view.run_id)).tool_calls
    assert view.result() == "I know no order Z9."
    assert [call.outcome for call in calls] == [ToolOutcome.ERROR]
    assert "there is no order Z9" in str(model.last_request.messages[-1])


async def run_main(settings: dict[str, str]) -> str:
    """What `python main.py` prints in a process of its own."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        str(MAIN),
        cwd=MAIN.parent,
        env={**os.environ, "OPENAI_API_KEY": "", **settings},
        stdout=asyncio.subprocess.PIPE,
    )
    printed, _ = await process.communicate()
    assert process.returncode == 0
    return printed.decode()
