"""A long log to fold: turns with one tool call, all of one size."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from benchmarks.agents import AGENT
from psych_runtime import Entry, PlainCodec, Record, RunId, Scope, Version
from psych_runtime.testing.log_builder import LogBuilder
from psych_runtime_core.jsonvalue import Json
from psych_runtime_core.records import decode

RECORDS_A_TURN = 5
LINES = 10
CODEC = PlainCodec()
LONG_RUN = RunId("run_of_many_turns")


@dataclass(frozen=True, slots=True)
class LongLog:
    """A Run under way that has made `turns` turns, and no more records than its first two."""

    run_id: RunId
    scope: Scope
    records: tuple[Record, ...]
    entries: tuple[Entry, ...]

    def decode(self) -> None:
        """Read every record from its bytes, and keep none, or the collector would go over them again."""
        for entry in self.entries:
            decode(entry, run_id=self.run_id, scope=self.scope, codec=CODEC)


@cache
def long_log(turns: int, lines: int = LINES) -> LongLog:
    """`2 + 5 * turns` records; the tool gives an order of so many lines, of about 80 bytes each."""
    log = written(turns, lines)
    return LongLog(log.run_id, log.scope, log.records, log.entries(CODEC))


def written(turns: int, lines: int = LINES) -> LogBuilder:
    """The same, to be put into a store that has the agent's Version."""
    # A Run ends at its deadline, and this one shall be under way at the last record.
    log = LogBuilder(LONG_RUN, version_hash=Version.of(AGENT).hash, step_seconds=1e-4).admitted().attempt()
    for turn in range(turns):
        number = f"A{turn:05}"
        log.call("lookup_order", {"order_id": number}, order(number, lines))
    return log


def order(number: str, lines: int) -> dict[str, Json]:
    """What the tool gives."""
    bought: list[Json] = [
        {"sku": f"SKU-{line:04}", "title": "A thing that was ordered", "quantity": line, "price": 19.9}
        for line in range(lines)
    ]
    return {"order_id": number, "status": "shipped", "lines": bought}


def turns_for(records: int) -> int:
    """How many turns a log of about this many records has."""
    return max(1, records // RECORDS_A_TURN)
