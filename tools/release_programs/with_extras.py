"""Run where every extra is installed: a Run on SQLite is completed, and read again."""

import asyncio
from datetime import UTC, datetime

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


async def main() -> None:
    """Raise on the first thing that is not as promised."""
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
    assert GenaiPrices().price_for("gpt-4o", at=datetime.now(UTC)) is not None
    assert OpenAICompatibleClient(base_url="http://127.0.0.1:1/v1").provider == "127.0.0.1"
    assert ModelClientContract.wire is None


asyncio.run(main())
