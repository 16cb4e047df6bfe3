"""Legal logs of one lane, record by record or grown by chance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from hypothesis import strategies as st

from psych_runtime_core.ids import (
    RunId,
    ToolCallId,
    VersionHash,
    WorkerId,
    call_digest,
    derive_call_id,
    derive_wait_id,
)
from psych_runtime_core.messages import (
    AssistantMessage,
    AssistantPart,
    FinishReason,
    ModelSource,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCall,
    ToolClass,
)
from psych_runtime_core.records import Record, RecordModel, stamp
from psych_runtime_core.records.facts import (
    AnnouncedCall,
    FailureKind,
    QueueKind,
    Sent,
    SuspendReason,
    ToolFailure,
    ToolOutcome,
)
from psych_runtime_core.records.queue import QueueConsumed, QueueEnqueued
from psych_runtime_core.records.run import AttemptStarted, RunAdmitted
from psych_runtime_core.records.tool import ANSWERED, ToolCallFinished, ToolCallStarted
from psych_runtime_core.records.turn import ModelCallFailed, ModelCallFinished, ModelCallStarted, TurnStarted
from psych_runtime_core.records.wait import Resumed, Suspended
from psych_runtime_core.scope import Scope
from psych_runtime_core.state.calls import CallState
from psych_runtime_core.state.fold import apply, empty
from psych_runtime_core.state.lane import LanePhase

RUN = RunId("run_1")
NOW = datetime(2026, 1, 1, tzinfo=UTC)
SALT = bytes(16)
HASH = "0" * 64
SOURCE = ModelSource(provider="p", model="m")


class Log:
    """A log under construction, every record of which the fold has let pass."""

    def __init__(self, **payload: Any) -> None:
        self.state = empty(RUN)
        self.records: list[Record] = []
        admitted = RunAdmitted(
            version_hash=VersionHash("v"),
            scope=Scope(tenant="t"),
            input=payload,
            deadline_at=NOW + timedelta(days=1),
            digest_salt=SALT,
            root_run_id=RUN,
        )
        self.add(admitted, epoch=0)
        self.attempt()

    def add(self, record: RecordModel, epoch: int | None = None) -> None:
        at = self.state.epoch if epoch is None else epoch
        stamped: Any = stamp(record, run_id=RUN, seq=len(self.records) + 1, at=NOW, tenant="t", epoch=at)
        apply(self.state, stamped)
        self.records.append(stamped)

    def attempt(self) -> None:
        number = self.state.attempt_count + 1
        started = AttemptStarted(worker_id=WorkerId("w"), attempt_number=number, library="1")
        self.add(started, epoch=number)

    def send(self, entry_id: str, **payload: Any) -> None:
        self.add(QueueEnqueued(entry_id=entry_id, queue=QueueKind.STEER, payload=payload), epoch=0)

    def ask(self) -> None:
        turn = self.state.lanes[""].turn + 1
        self.add(TurnStarted(turn=turn))
        for entry in self.state.pending:
            self.add(QueueConsumed(entry_id=entry.entry_id, turn=turn))
        self.try_model()

    def try_model(self) -> None:
        lane = self.state.lanes[""]
        self.add(ModelCallStarted(turn=lane.turn, try_number=lane.try_number + 1, model="m"))

    def fail(self) -> None:
        lane = self.state.lanes[""]
        failure = ToolFailure(kind=FailureKind.TRANSIENT, message="busy")
        tried = {"turn": lane.turn, "try_number": lane.try_number, "model": "m", "failure": failure}
        self.add(ModelCallFailed.model_validate({**tried, "next": "retry", "next_model": "m"}))

    def answer(self, *calls: tuple[str, str], parts: Sequence[AssistantPart] = ()) -> list[ToolCallId]:
        """The model's answer: `parts`, then a call for each (name, raw arguments)."""
        lane = self.state.lanes[""]
        ids = [derive_call_id(RUN, "", lane.turn, ordinal) for ordinal in range(len(calls))]
        said = [
            ToolCall(id=call_id, name=name, arguments=raw, provider_id="same for all")
            for call_id, (name, raw) in zip(ids, calls, strict=True)
        ]
        announced = [
            AnnouncedCall(
                call_id=call.id, name=call.name, arguments_digest=call_digest(SALT, call.name, call.arguments)
            )
            for call in said
        ]
        record = ModelCallFinished(
            turn=lane.turn,
            try_number=lane.try_number,
            model="m",
            message=AssistantMessage(parts=(*parts, *said), source=SOURCE),
            calls=tuple(announced),
            finish_reason=FinishReason.TOOL_CALLS if calls else FinishReason.STOP,
            sent=Sent(prompt_hash=HASH, tools_hash=HASH),
        )
        self.add(record)
        return ids

    def say(self, text: str) -> None:
        self.answer(parts=[TextPart(text=text)])

    def start(self, call_id: ToolCallId, edited: dict[str, Any] | None = None) -> None:
        call = self.state.calls[call_id]
        approved = call.approved
        started = ToolCallStarted(
            call_id=call_id,
            tool=call.name or "-",
            turn=call.turn,
            run_number=call.run_number + 1,
            arguments_digest=approved.arguments_digest if approved else call.arguments_digest,
            arguments=edited,
            decision="approved" if approved else "allowed",
            wait_id=approved.wait_id if approved else None,
            tool_class=ToolClass.WRITE,
            interruptible=True,
            safe_to_retry=True,
            probe=False,
        )
        self.add(started)

    def finish(self, call_id: ToolCallId, outcome: ToolOutcome, told: Any = None, kind: str = "Boom") -> None:
        call = self.state.calls[call_id]
        failed = outcome in (ToolOutcome.ERROR, ToolOutcome.REFUSED)
        finished = ToolCallFinished(
            call_id=call_id,
            tool=call.name,
            turn=call.turn,
            outcome=outcome,
            result=told if outcome is ToolOutcome.OK else None,
            failure=ToolFailure(kind=kind, message=told) if failed else None,
            answer_digest=HASH if outcome in ANSWERED else None,
        )
        self.add(finished)

    def run(self, call_id: ToolCallId, result: Any) -> None:
        self.start(call_id)
        self.finish(call_id, ToolOutcome.OK, result)

    def suspend(self, call_id: ToolCallId) -> None:
        call = self.state.calls[call_id]
        self.add(
            Suspended(
                wait_id=derive_wait_id(RUN, call_id, call.waits_opened),
                reason=SuspendReason.APPROVAL,
                due_at=NOW,
                call_id=call_id,
                tool=call.name,
                tool_class=ToolClass.WRITE,
                arguments_digest=call.arguments_digest,
            )
        )

    def decide(self, call_id: ToolCallId, approved: bool, edited: dict[str, Any] | None = None) -> None:
        call = self.state.calls[call_id]
        assert call.wait_id is not None
        may_run = call.arguments_digest if edited is None else call_digest(SALT, call.name, edited)
        resumed = Resumed(
            wait_id=call.wait_id,
            approved=approved,
            arguments=edited,
            shown_digest=call.arguments_digest,
            arguments_digest=may_run if approved else None,
        )
        self.add(resumed, epoch=0)


# --- by chance --------------------------------------------------------------------------------------------

HOSTILE = st.one_of(
    st.text(st.characters(exclude_categories=()), max_size=20),
    st.sampled_from(["", " ", "\x00", "\ud800", "\ud83d\ude00", "\x1b[0m", "</s>", "y" * 1_000_000]),
)
PAYLOADS = st.dictionaries(st.sampled_from(["message", "input", "x"]), HOSTILE, max_size=2)
RESULTS = st.one_of(HOSTILE, st.none(), st.integers(), st.lists(HOSTILE, max_size=2), PAYLOADS)
PARTS = st.lists(
    st.one_of(
        HOSTILE.map(lambda text: TextPart(text=text)),
        HOSTILE.map(lambda text: ReasoningPart(text=text)),
        HOSTILE.map(lambda text: RefusalPart(text=text)),
    ),
    max_size=2,
)
Draw = Callable[[st.SearchStrategy[Any]], Any]
Step = Literal["begin", "suspend", "refuse", "abort", "error", "ok", "unknown", "yes", "edited", "no"]


@st.composite
def logs(draw: st.DrawFn) -> Log:
    """A legal log, grown by whatever may follow."""
    log = Log(**draw(PAYLOADS))
    steps = st.sampled_from(["grow"] * 8 + ["send", "attempt"])
    for number, step in enumerate(draw(st.lists(steps, min_size=draw(st.integers(0, 60)), max_size=60))):
        if step == "send":
            log.send(f"e{number % 5}", **draw(PAYLOADS))
        elif step == "attempt":
            log.attempt()
        else:
            grow(log, draw)
    return log


def grow(log: Log, draw: Draw) -> None:
    phase = log.state.lanes[""].phase
    if phase is LanePhase.ACTING:
        call = draw(st.sampled_from(log.state.calls_of("")))
        act(log, call, draw(st.sampled_from(steps_of(log, call))), draw)
    elif phase is LanePhase.ASKING:
        log.try_model()
    elif phase is not LanePhase.CALLING:
        log.ask()
    elif draw(st.integers(0, 4)):
        log.answer(*draw(st.lists(st.tuples(HOSTILE, HOSTILE), max_size=4)), parts=draw(PARTS))
    else:
        log.fail()


def steps_of(log: Log, call: CallState) -> list[Step]:
    if call.phase == "started":
        ends: list[Step] = ["ok", "error", "unknown", "abort"]
        return ["begin", *ends] if call.epoch < log.state.epoch else ends
    if call.wait_id is not None and log.state.waits[call.wait_id].answer is None:
        return ["yes", "edited", "no", "abort"]
    if call.approved is not None:
        return ["begin", "refuse"]
    return ["refuse", "abort"] if call.waits_opened else ["begin", "suspend", "refuse"]


def act(log: Log, call: CallState, step: Step, draw: Draw) -> None:
    match step:
        case "begin":
            log.start(call.call_id, draw(st.none() | PAYLOADS) if call.approved else None)
        case "suspend":
            log.suspend(call.call_id)
        case "refuse":
            kind = draw(st.sampled_from([FailureKind.DENIED, FailureKind.REPEATED_CALL]))
            log.finish(call.call_id, ToolOutcome.REFUSED, draw(HOSTILE), kind)
        case "ok":
            log.finish(call.call_id, ToolOutcome.OK, draw(RESULTS))
        case "error":
            log.finish(call.call_id, ToolOutcome.ERROR, draw(HOSTILE))
        case "abort" | "unknown":
            log.finish(call.call_id, ToolOutcome.ABORTED if step == "abort" else ToolOutcome.UNKNOWN)
        case "yes" | "no" | "edited":
            log.decide(call.call_id, step != "no", draw(PAYLOADS) if step == "edited" else None)
