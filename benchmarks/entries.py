"""The bytes of an entry, and what it costs to make them."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Iterator
from time import process_time

from benchmarks.agents import AGENT, REGISTRY, TimedModel, lookup_order
from benchmarks.figure import Figure, at_most
from benchmarks.logs import CODEC, LongLog, long_log
from benchmarks.setting import Setting, Side
from psych_runtime import CodeTool, Entry, InMemoryStore, session
from psych_runtime_core.jsonvalue import decode_json
from psych_runtime_core.records import GENESIS, encode
from psych_runtime_core.records.tree import join

TOOLS = 40
PROMPT_BYTES = 60_000


def measure(setting: Setting) -> Iterator[Figure]:
    turns = setting.size(200, least=1)
    sides = setting.alternate(*encoding(long_log(turns)))
    yield Figure("encode / json.dumps of the record", "µs", *sides, at_most(3))
    sides = setting.alternate(*encoding(long_log(turns, lines=0)))
    yield Figure("the same of a turn with empty results", "µs", *sides)
    yield turn_bytes(setting)


# --- making them -------------------------------------------------------------------------------------


def encoding(log: LongLog) -> tuple[Side, Side]:
    """`encode` of a record, and `json.dumps` of the plain document that it becomes."""
    documents = [document(entry) for entry in log.entries]

    def ours() -> float:
        begun = process_time()
        for record in log.records:
            encode(record, after=GENESIS, scope=log.scope, codec=CODEC)
        return 1e6 * (process_time() - begun) / len(log.records)

    def against() -> float:
        begun = process_time()
        for each in documents:
            json.dumps(each)
        return 1e6 * (process_time() - begun) / len(documents)

    return ours, against


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
