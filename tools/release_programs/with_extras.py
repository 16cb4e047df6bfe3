"""Run where every extra is installed: a Run on SQLite is completed, and read again."""

import asyncio

from psych_runtime import AgentSpec, ModelRef, TerminalState, open_store, session, status, verify
from psych_runtime.store.sqlite import SQLiteStore
from psych_runtime.testing.fake_model import FakeModel


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


asyncio.run(main())
