"""The bytes of an entry, and what it costs to make them."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Iterator
from time import perf_counter

from benchmarks.agents import AGENT, REGISTRY, TimedModel, lookup_order
from benchmarks.figure import Figure, at_most
from benchmarks.logs import CODEC, RECORDS_A_TURN, long_log
from benchmarks.setting import Setting
from psych_runtime.sessions import session
from psych_runtime_core.jsonvalue import decode_json
from psych_runtime_core.records import GENESIS, Entry, encode
from psych_runtime_core.records.tree import join
from psych_runtime_core.spec.tools import CodeTool
from psych_runtime_memory import InMemoryStore

TOOLS = 40
PROMPT_BYTES = 60_000


def measure(setting: Setting) -> Iterator[Figure]:
    yield encoding(setting)
    yield turn_bytes(setting)


# --- making them -------------------------------------------------------------------------------------


def encoding(setting: Setting) -> Figure:
    """The records of a turn, each against `json.dumps` of the plain document it becomes."""
    log = long_log(setting.size(200, least=1))
    records = log.records[-RECORDS_A_TURN * setting.size(200, least=1) :]
    documents = [document(entry) for entry in log.entries[-len(records) :]]

    def ours() -> float:
        begun = perf_counter()
        for record in records:
            encode(record, after=GENESIS, scope=log.scope, codec=CODEC)
        return 1e6 * (perf_counter() - begun) / len(records)

    def against() -> float:
        begun = perf_counter()
        for each in documents:
            json.dumps(each)
        return 1e6 * (perf_counter() - begun) / len(documents)

    return Figure("encode / json.dumps of the record", "µs", *setting.alternate(ours, against), at_most(3))


def document(entry: Entry) -> object:
    """The facts and the content of a record as one plain document."""
    facts, _, content = entry.body.partition(b"\n")
    return join(decode_json(facts), decode_json(content) if content else {})


# --- how many there are ------------------------------------------------------------------------------


def turn_bytes(setting: Setting) -> Figure:
    late, early = setting.size(400, least=5), 4
    sizes = asyncio.run(sizes_of_turns(late))
    return Figure(
        f"entry bytes of turn {late} / of turn {early}",
        "bytes",
        [sizes[late]],
        [sizes[early]],
        at_most(1.05),
    )


async def sizes_of_turns(turns: int) -> Counter[int]:
    """The bytes that the entries of each turn have, under a long prompt and beside many tools."""
    names = ["lookup_order", *(f"lookup_{number}" for number in range(TOOLS - 1))]
    agent = AGENT.model_copy(
        update={
            "instructions": "Be kind. " * (PROMPT_BYTES // 9),
            "tools": tuple(CodeTool(name=name) for name in names),
        }
    )
    store = InMemoryStore()
    registry = REGISTRY.layered()
    for name in names[1:]:
        registry.register(lookup_order, name=name)
    async with session(TimedModel(turns), store=store, registry=registry) as local:
        answer = await local.ask(agent, "Where are my orders?", timeout=600)
        sizes: Counter[int] = Counter()
        turn = after = 0
        while page := await store.read(answer.run_id, after):
            for entry in page:
                turn += entry.type == "turn_started"
                sizes[turn] += len(entry.body)
            after = page[-1].seq
        return sizes
