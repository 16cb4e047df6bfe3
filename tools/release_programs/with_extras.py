"""Run where every extra is installed: a Run on SQLite is completed and shown, skills are written."""

import asyncio
import json
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import psych_runtime
from psych_runtime import (
    AgentSpec,
    GenaiPrices,
    ModelRef,
    OpenAICompatibleClient,
    TerminalState,
    open_store,
    session,
    status,
    verify,
)
from psych_runtime.store.sqlite import SQLiteStore
from psych_runtime.testing.fake_model import FakeModel
from psych_runtime_contract.model import ModelClientContract

KIT = Path(psych_runtime.__file__ or "").parent / "_kit"


def main() -> None:
    """Raise on the first thing that is not as promised."""
    run_id = asyncio.run(complete_a_run())
    assert "It holds." in psych("show", run_id, "--store", "sqlite:///release.db")
    assert json.loads(psych("doctor", "--store", "sqlite:///release.db", "--json"))["ok"]
    skills_are_written()
    assert GenaiPrices().price_for("gpt-4o", at=datetime.now(UTC)) is not None
    assert OpenAICompatibleClient(base_url="http://127.0.0.1:1/v1").provider == "127.0.0.1"
    assert ModelClientContract.wire is None


async def complete_a_run() -> str:
    """The id of a Run that has ended, in a file that was read again."""
    model = FakeModel()
    model.turn("It holds.")
    spec = AgentSpec(
        name="release", instructions="Say whether it holds.", model=ModelRef(model="fake-standard")
    )
    durable = open_store("sqlite:///release.db", migrate=True)
    async with durable as store, session(model, store=store) as psych:
        answer = await psych.ask(spec, "Does it hold?")
        assert answer.result() == "It holds."
    async with SQLiteStore("release.db", read_only=True) as store:
        await verify(store, answer.run_id)
        assert (await status(store, answer.run_id)).terminal_state is TerminalState.COMPLETED
    return answer.run_id


def skills_are_written() -> None:
    """All that came with the package, each as it came."""
    came = {file.parent.name for file in KIT.glob("skills/*/SKILL.md")}
    assert "psych" in came
    psych("skills", "install", "--dest", "skills")
    listed = json.loads(psych("skills", "list", "--dest", "skills", "--json"))["skills"]
    assert {(each["name"], each["state"]) for each in listed} == {(name, "current") for name in came}
    assert {file.parent.name for file in Path("skills").glob("*/SKILL.md")} == came


def psych(*arguments: str) -> str:
    """What the command prints, which succeeds."""
    return subprocess.run(["psych", *arguments], capture_output=True, text=True, check=True).stdout


main()
