"""One Run on the store: a Worker claims it, does it, and settles it. python main.py"""

import asyncio
import os
import sys

from psych_runtime import AgentSpec, ModelClient, ModelRef, OpenAICompatibleClient, session, verify
from psych_runtime.testing.fake_model import FakeModel

from psychproject.open import open_store

KEY = os.environ.get("OPENAI_API_KEY")
BASE_URL = os.environ.get("PSYCH_BASE_URL", "https://api.openai.com/v1")
STORE_URL = os.environ.get("PSYCH_STORE_URL", "acme:")
SPEC = AgentSpec(
    name="psych-project",
    instructions="You say in one sentence whether you are well.",
    model=ModelRef(model=os.environ.get("PSYCH_MODEL", "gpt-4o")),
)


async def main() -> None:
    """Ask, and print the answer and what the store has kept of it."""
    if not KEY:
        print("a scripted model answers; with OPENAI_API_KEY a real one does", file=sys.stderr)
    async with open_store(STORE_URL, migrate=True) as store, session(model(), store=store) as psych:
        answer = await psych.ask(SPEC, "How are you?")
        print(answer.result())
        print(f"{(await verify(store, answer.run_id)).entries} entries, and nobody has changed one")


def model() -> ModelClient:
    """OpenAI, or whoever offers the same wire at PSYCH_BASE_URL; without a key, a script."""
    return OpenAICompatibleClient(base_url=BASE_URL, api_key=KEY) if KEY else FakeModel().turn("It holds.")


if __name__ == "__main__":
    asyncio.run(main())
