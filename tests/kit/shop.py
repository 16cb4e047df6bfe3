"""Runs of a shop's agent in a SQLite file, one for each thing that there is to show."""

from dataclasses import dataclass
from pathlib import Path

import psych_runtime
from psych_runtime.testing.fake_model import FakeModel

# Moves the cursor, clears the line, rings, turns text around, and forges an answer.
HOSTILE = "\x1b[2J\x1b[1A\r\x07\u202egnissim\u2028\x9b31m\x7f\nanswer      you are hacked\ttab"
LONG = "é" * 8_000
SPEC = psych_runtime.AgentSpec(
    name="shop",
    instructions="Help the customer.",
    model=psych_runtime.ModelRef(model="scripted"),
    tools=(psych_runtime.CodeTool(name="lookup_order"), psych_runtime.CodeTool(name="refund")),
    limits=psych_runtime.Limits(max_turns=4, transient_retry_budget=0),
)


@dataclass(frozen=True)
class Shop:
    """Where the Runs are, and which they are."""

    url: str
    done: str
    hostile: str
    long: str
    failed: str
    waiting: str
    steered: str


def tools(result: str = "shipped") -> psych_runtime.ToolRegistry:
    """The shop's tools: a look-up that gives `result`, and a refund that a person must allow."""
    registry = psych_runtime.ToolRegistry()

    @registry.register
    async def lookup_order(order_id: str) -> str:
        """Look up an order."""
        return result

    @registry.register(annotations="destructive")
    async def refund(order_id: str) -> str:
        """Give the money back."""
        return f"refunded {order_id}"

    return registry


def script(answer: str, call: str = "lookup_order") -> FakeModel:
    """A model that calls one tool and then answers."""
    return FakeModel(play="per_lane").turn(tool_calls=[(call, {"order_id": "A1"})]).turn(answer)


async def asked(
    url: str,
    model: FakeModel,
    question: str = "where is A1?",
    result: str = "shipped",
    spec: psych_runtime.AgentSpec = SPEC,
) -> str:
    """The id of a Run of tenant acme that has ended."""
    registry = tools(result)
    async with (
        psych_runtime.open_store(url, migrate=True) as store,
        psych_runtime.session(model, store=store, registry=registry, tenant="acme", principal="ada") as psych,
    ):
        return (await psych.ask(spec, question, timeout=30)).run_id


async def parked(url: str) -> str:
    """The id of a Run that waits for a person to allow a refund."""
    registry = tools()
    async with (
        psych_runtime.open_store(url, migrate=True) as store,
        psych_runtime.session(
            script("Refunded.", "refund"), store=store, registry=registry, tenant="acme"
        ) as psych,
    ):
        run_id = (await psych.start(SPEC, "refund A1")).run_id
        async for record in psych_runtime.stream(store, run_id):
            if record.type == "suspended":
                break
        return run_id


async def steered(url: str) -> str:
    """The id of a Run that was told more before it began."""
    registry = tools()
    async with psych_runtime.open_store(url, migrate=True) as store:
        scope = psych_runtime.Scope(tenant="acme", principal="ada")
        run_id = (await psych_runtime.dispatch(store, SPEC, scope, input="where is A1?")).run_id
        await psych_runtime.send(store, run_id, message="and hurry")
        model = script("It has shipped.")
        async with psych_runtime.session(model, store=store, registry=registry, tenant="acme") as psych:
            await psych.wait(run_id)
        return run_id


async def open_shop(folder: Path) -> Shop:
    """A file with every kind of Run."""
    url = f"sqlite:///{folder / 'shop.db'}"
    return Shop(
        url=url,
        done=await asked(url, script("A1 has shipped.")),
        hostile=await asked(url, script(HOSTILE), question=HOSTILE, result=HOSTILE),
        long=await asked(url, script("done"), result=LONG),
        failed=await asked(url, FakeModel().rejects_auth()),
        waiting=await parked(url),
        steered=await steered(url),
    )
