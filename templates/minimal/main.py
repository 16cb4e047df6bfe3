"""Asks the agent one question and prints what came of it: python main.py "where is order A1?" """

import asyncio
import os
import sys
from shlex import quote

from psych_runtime import RunReport, open_store, report, session

from psychproject.agent import SPEC, TOOLS, real_model, scripted_model

QUESTION = "where is order A1?"
STORE_URL = os.environ.get("PSYCH_STORE_URL", "memory:")
KEY = os.environ.get("OPENAI_API_KEY")


async def main(question: str) -> None:
    """Ask, and print the answer, what it took, and how to look at it again."""
    if not KEY:
        print("a scripted model answers; with OPENAI_API_KEY a real one does", file=sys.stderr)
    model = real_model(KEY) if KEY else scripted_model()
    async with (
        open_store(STORE_URL, migrate=True) as store,
        session(model, store=store, tools=TOOLS) as psych,
    ):
        answer = await psych.ask(SPEC, question)
        print(answer.result())
        print(totals(await report(store, answer.run_id)))
    if STORE_URL != "memory:":
        print(f"psych show {answer.run_id} --store {quote(STORE_URL)}")


def totals(run: RunReport) -> str:
    """What the Run used and cost, in one line. What nobody reported is unknown, never 0."""
    usage, costs = run.totals.usage, run.totals.costs
    tokens = f"{usage.prompt} in, {usage.output} out" if usage else "unknown"
    cost = ", ".join(f"{each.amount:f} {each.currency}" for each in costs) or "unknown"
    more = ", and calls without a price" if costs and run.totals.cost_is_incomplete else ""
    return f"tokens: {tokens}; cost: {cost}{more}"


if __name__ == "__main__":
    asyncio.run(main(" ".join(sys.argv[1:]) or QUESTION))
