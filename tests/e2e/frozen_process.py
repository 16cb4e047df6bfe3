"""A Worker process whose tool takes a while: `python -m tests.e2e.frozen_process store-url ledger`."""

import asyncio
import sys

from psych_runtime import Runtime, ToolRegistry, Worker, open_store
from psych_runtime.testing import EffectLedger, FakeModel
from tests.e2e.stage import agent

SPEC = agent("pay", "post")


def registry(seconds: float) -> ToolRegistry:
    tools = ToolRegistry()

    @tools.register
    async def pay(cents: int) -> str:
        """Pay somebody."""
        await asyncio.sleep(seconds)
        return f"paid {cents}"

    @tools.register
    async def post(text: str) -> str:
        """Write to somebody."""
        return f"posted {text}"

    return tools


async def main(url: str, ledger: str) -> None:
    model = FakeModel().turn(tool_calls=[("pay", {"cents": 5})]).turn(tool_calls=[("post", {"text": "paid"})])
    async with open_store(url) as store:
        tools = EffectLedger(ledger).wrap(registry(seconds=0.5))
        await Worker(
            Runtime(store=store, model=model, registry=tools), lease_seconds=1, poll_interval=0.2
        ).run()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
