"""A log as it is judged: its entries, what they decode to, and what is known beside it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

from psych_runtime.testing.ledger import Invocation
from psych_runtime_core.errors import CorruptLog, PsychError
from psych_runtime_core.ids import RunId, ToolCallId
from psych_runtime_core.jsonvalue import decode_json
from psych_runtime_core.messages import ToolCall
from psych_runtime_core.ports.runs import RunHeader
from psych_runtime_core.records import Codec, Entry, Record, decode
from psych_runtime_core.records.run import RunAdmitted
from psych_runtime_core.records.tool import ToolCallFinished, ToolCallStarted
from psych_runtime_core.records.turn import ModelCallFinished
from psych_runtime_core.scope import Scope
from psych_runtime_core.spec.agent import AgentSpec

R = TypeVar("R", bound=Record)


@dataclass(frozen=True, slots=True)
class Fault:
    """Where a rule is broken, and how."""

    seq: int
    message: str


@dataclass
class CallRecords:
    """What a log says of one call."""

    announced: ModelCallFinished
    ordinal: int
    starts: list[ToolCallStarted] = field(default_factory=list[ToolCallStarted])
    ends: list[ToolCallFinished] = field(default_factory=list[ToolCallFinished])

    @property
    def asked(self) -> ToolCall:
        """The call as the model wrote it."""
        return self.announced.tool_calls[self.ordinal]


@dataclass(frozen=True)
class JudgedLog:
    """One Run's log. `records` are the entries that can be read, `unreadable` says what is wrong with others.

    `effects` are those of this Run alone, None when nobody kept a ledger.
    """

    run_id: RunId
    entries: tuple[Entry, ...]
    records: tuple[Record, ...]
    unreadable: tuple[Fault, ...]
    calls: dict[ToolCallId, CallRecords]
    effects: tuple[Invocation, ...] | None
    header: RunHeader | None
    spec: AgentSpec | None

    @classmethod
    def of(
        cls,
        entries: Iterable[Entry],
        effects: Iterable[Invocation],
        header: RunHeader | None,
        spec: AgentSpec | None,
        codec: Codec,
    ) -> JudgedLog:
        stored = tuple(entries)
        run_id, scope = (header.run_id, header.scope) if header else _owner(stored)
        records: list[Record] = []
        unreadable: list[Fault] = []
        for entry in stored:
            try:
                records.append(decode(entry, run_id=run_id, scope=scope, codec=codec))
            except CorruptLog as error:
                unreadable.append(Fault(entry.seq, error.detail))
            except PsychError:
                raise
            except Exception as error:
                # What a codec raises for a seal that is not its own, each its own error.
                told = f"its content cannot be opened: {type(error).__name__}: {error}"
                unreadable.append(Fault(entry.seq, told))
        known = tuple(effects)
        ours = tuple(each for each in known if each.run_id == run_id) if known else None
        calls = _calls(records)
        return cls(run_id, stored, tuple(records), tuple(unreadable), calls, ours, header, spec)

    @property
    def admitted(self) -> RunAdmitted | None:
        return next(iter(self.all(RunAdmitted)), None)

    @property
    def salt(self) -> bytes:
        """What the digests of this log are salted with."""
        return self.admitted.digest_salt if self.admitted else b""

    @property
    def is_settled(self) -> bool:
        return bool(self.entries) and self.entries[-1].type == "run_settled"

    def all(self, kind: type[R]) -> Iterator[R]:
        """The records of one type."""
        return (record for record in self.records if isinstance(record, kind))


def _owner(entries: tuple[Entry, ...]) -> tuple[RunId, Scope]:
    """The Run that the first entry says it is of, and its tenant."""
    line = entries[0].body.partition(b"\n")[0] if entries else b"{}"
    told: Any = decode_json(line)
    return RunId(str(told.get("run_id", ""))), Scope(tenant=told.get("tenant", "-"))


def _calls(records: Iterable[Record]) -> dict[ToolCallId, CallRecords]:
    calls: dict[ToolCallId, CallRecords] = {}
    for record in records:
        if isinstance(record, ModelCallFinished):
            for ordinal, call in enumerate(record.calls):
                calls.setdefault(call.call_id, CallRecords(record, ordinal))
        elif isinstance(record, ToolCallStarted) and record.call_id in calls:
            calls[record.call_id].starts.append(record)
        elif isinstance(record, ToolCallFinished) and record.call_id in calls:
            calls[record.call_id].ends.append(record)
    return calls
