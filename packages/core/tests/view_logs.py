"""Logs for the tests of views: each method appends what one moment of a Run writes."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, Self

from psych_runtime_core.ids import RunId, ToolCallId, WaitId, WorkerId, derive_call_id, derive_wait_id
from psych_runtime_core.jsonvalue import json_text
from psych_runtime_core.messages import (
    AssistantMessage,
    Cost,
    FinishReason,
    ModelSource,
    TextPart,
    ToolCall,
    ToolClass,
    Usage,
)
from psych_runtime_core.records import GENESIS, PlainCodec, Record, decode, encode, stamp
from psych_runtime_core.records.facts import (
    AnnouncedCall,
    ModelTimings,
    OfferedTool,
    QueueKind,
    Sent,
    SuspendReason,
    TerminalState,
    ToolFailure,
    ToolOutcome,
)
from psych_runtime_core.records.queue import QueueConsumed, QueueEnqueued
from psych_runtime_core.records.run import AbortRequested, AttemptStarted, RunAdmitted, RunSettled
from psych_runtime_core.records.tool import ANSWERED, ToolCallFinished, ToolCallStarted
from psych_runtime_core.records.turn import ModelCallFailed, ModelCallFinished, ModelCallStarted, TurnStarted
from psych_runtime_core.records.wait import Resumed, Suspended
from psych_runtime_core.scope import Scope
from psych_runtime_core.spec.agent import AgentSpec
from psych_runtime_core.spec.model import ModelRef
from psych_runtime_core.version import Version, checked
from psych_runtime_core.views.projection import RunProjection, project

RUN = RunId("run_1")
T0 = datetime(2026, 5, 4, 12, tzinfo=UTC)
PROMPT = "Be kind."
DEADLINE = T0 + timedelta(hours=1)
VERSION: Version = checked(AgentSpec(name="clerk", model=ModelRef(model="gpt"), instructions=PROMPT))
USAGE = Usage(input=10, output=5)
PRICE = Cost(amount="0.02", currency="USD", model="gpt")  # type: ignore[arg-type]  # pydantic reads the text


def digest(letter: str) -> str:
    """A digest that is told from others at a glance."""
    return letter * 64


def at(seconds: float) -> datetime:
    """`seconds` after the admission."""
    return T0 + timedelta(seconds=seconds)


class Log:
    """A log that grows. A record is written at `second`, by the newest Attempt or from outside."""

    def __init__(self) -> None:
        self.records: list[Record] = []
        self.second = 0.0
        self.epoch = 0
        self.attempts = 0
        self.turn = 0
        self.tries = 0
        self.answer_seq = 0
        self.sent: set[str] = set()

    def then(self, record: Record, *, outside: bool = False) -> Self:
        epoch = 0 if outside else self.epoch
        envelope: dict[str, Any] = {"run_id": RUN, "seq": len(self.records) + 1, "tenant": "acme"}
        self.records.append(stamp(record, at=at(self.second), epoch=epoch, **envelope))
        return self

    def wait(self, seconds: float) -> Self:
        self.second += seconds
        return self

    @property
    def view(self) -> RunProjection:
        return project(self.records, run_id=RUN)

    # --- the Run ---------------------------------------------------------------------------------------

    def admitted(self, message: str | None = "Pay the bill.") -> Self:
        admitted = RunAdmitted(
            version_hash=VERSION.hash,
            scope=Scope(tenant="acme", principal="ann"),
            input={} if message is None else {"message": message},
            deadline_at=DEADLINE,
            digest_salt=b"0123456789abcdef",
            root_run_id=RUN,
        )
        return self.then(admitted, outside=True)

    def attempt(self, *, reclaimed: bool = False) -> Self:
        self.attempts += 1
        self.epoch += 1
        started = AttemptStarted(
            worker_id=WorkerId(f"worker_{self.attempts}"),
            attempt_number=self.attempts,
            reclaimed_expired_lease=reclaimed,
            library="0.1.0",
        )
        return self.then(started)

    def aborted(self, reason: str = "") -> Self:
        return self.then(AbortRequested(reason=reason, requested_by="bob"), outside=True)

    def settled(self, state: TerminalState, kind: str | None = None) -> Self:
        failure = ToolFailure(kind=kind, message=f"because of {kind}") if kind else None
        return self.then(RunSettled(state=state, failure=failure))

    def completed(self, output: Mapping[str, Any]) -> Self:
        return self.then(
            RunSettled(state=TerminalState.COMPLETED, output=dict(output), answer_seq=self.answer_seq)
        )

    # --- turns -----------------------------------------------------------------------------------------

    def asks(self, *reads: str) -> Self:
        """A turn opens, reads these entries and calls the model."""
        self.turn += 1
        self.tries = 0
        self.then(TurnStarted(turn=self.turn))
        for entry_id in reads:
            self.then(QueueConsumed(entry_id=entry_id, turn=self.turn))
        return self.tries_again()

    def tries_again(self, model: str = "gpt") -> Self:
        self.tries += 1
        return self.then(ModelCallStarted(turn=self.turn, try_number=self.tries, model=model))

    def says(
        self,
        text: str = "",
        *calls: tuple[str, Any],
        usage: Usage | None = USAGE,
        cost: Cost | None = PRICE,
        prompt: str = PROMPT,
    ) -> Self:
        """The model answers; a call is a tool and its arguments, an object or any text."""
        written = tuple(self._written(ordinal, *call) for ordinal, call in enumerate(calls))
        parts = ((TextPart(text=text),) if text else ()) + written
        finished = ModelCallFinished(
            turn=self.turn,
            try_number=self.tries,
            model="gpt",
            message=AssistantMessage(parts=parts, source=ModelSource(provider="fake", model="gpt")),
            calls=tuple(
                AnnouncedCall(call_id=each.id, name=each.name, arguments_digest=digest("a"))
                for each in written
            ),
            finish_reason=FinishReason.TOOL_CALLS if calls else FinishReason.STOP,
            usage=usage,
            cost=cost,
            timings=ModelTimings(stream_duration_seconds=1.0),
            sent=self._sent(prompt),
        )
        self.then(finished)
        self.answer_seq = len(self.records)
        return self

    def fails(self, kind: str, *, retry: bool, usage: Usage | None = None) -> Self:
        failed = ModelCallFailed(
            turn=self.turn,
            try_number=self.tries,
            model="gpt",
            failure=ToolFailure(kind=kind, message=f"the model: {kind}", transient=retry),
            next="retry" if retry else "stop",
            next_model="gpt" if retry else None,
            usage=usage,
        )
        return self.then(failed)

    def _written(self, ordinal: int, tool: str, arguments: Any) -> ToolCall:
        text = arguments if isinstance(arguments, str) else json_text(arguments)
        return ToolCall(id=self.call(ordinal), name=tool, arguments=text, provider_id=f"p{ordinal}")

    def _sent(self, prompt: str) -> Sent:
        tools = (OfferedTool(name="pay", tool_class=ToolClass.DESTRUCTIVE, digest=digest("d")),)
        new, first = prompt not in self.sent, not self.sent
        self.sent.add(prompt)
        return Sent(
            prompt_hash=digest("b" if prompt == PROMPT else "f"),
            tools_hash=digest("c"),
            system_prompt=prompt if new else None,
            tools=tools if first else None,
        )

    # --- calls -----------------------------------------------------------------------------------------

    def call(self, ordinal: int = 0) -> ToolCallId:
        """The id of a call of the open turn."""
        return derive_call_id(RUN, "", self.turn, ordinal)

    def wait_of(self, ordinal: int = 0) -> WaitId:
        """The id of the first Wait of a call of the open turn."""
        return derive_wait_id(RUN, self.call(ordinal), 0)

    def starts(
        self,
        ordinal: int = 0,
        *,
        decision: Literal["allowed", "approved", "remembered"] = "allowed",
        wait_id: WaitId | None = None,
        edited: Mapping[str, Any] | None = None,
        run_number: int = 1,
        safe_to_retry: bool = False,
    ) -> Self:
        started = ToolCallStarted(
            call_id=self.call(ordinal),
            tool="pay",
            turn=self.turn,
            run_number=run_number,
            arguments_digest=digest("e" if edited else "a"),
            arguments=None if edited is None else dict(edited),
            decision=decision,
            wait_id=wait_id,
            tool_class=ToolClass.DESTRUCTIVE,
            interruptible=True,
            safe_to_retry=safe_to_retry,
            probe=False,
        )
        return self.then(started)

    def ends(
        self,
        ordinal: int = 0,
        outcome: ToolOutcome = ToolOutcome.OK,
        *,
        result: Any = None,
        kind: str | None = None,
        seconds: float = 0.0,
    ) -> Self:
        finished = ToolCallFinished(
            call_id=self.call(ordinal),
            tool="pay",
            turn=self.turn,
            outcome=outcome,
            result=result,
            failure=ToolFailure(kind=kind, message=f"because of {kind}") if kind else None,
            duration_seconds=seconds,
            answer_digest=digest("0") if outcome in ANSWERED else None,
        )
        return self.then(finished)

    def suspends(self, ordinal: int = 0) -> Self:
        suspended = Suspended(
            wait_id=self.wait_of(ordinal),
            reason=SuspendReason.APPROVAL,
            due_at=at(600),
            call_id=self.call(ordinal),
            tool="pay",
            tool_class=ToolClass.DESTRUCTIVE,
            arguments_digest=digest("a"),
            question="May it pay?",
        )
        return self.then(suspended)

    def decides(
        self,
        ordinal: int = 0,
        *,
        approved: bool,
        edited: Mapping[str, Any] | None = None,
        remember: Literal["tool", "arguments"] | None = None,
        by: str = "boss",
    ) -> Self:
        resumed = Resumed(
            wait_id=self.wait_of(ordinal),
            approved=approved,
            arguments=None if edited is None else dict(edited),
            shown_digest=digest("a"),
            arguments_digest=digest("e" if edited else "a") if approved else None,
            remember=remember,
            resumed_by=by,
        )
        return self.then(resumed, outside=True)

    def expires(self, ordinal: int = 0) -> Self:
        return self.then(Resumed(wait_id=self.wait_of(ordinal), cause="expired"))

    # --- messages --------------------------------------------------------------------------------------

    def sends(self, entry_id: str, text: str, queue: QueueKind = QueueKind.STEER) -> Self:
        sent = QueueEnqueued(entry_id=entry_id, queue=queue, payload={"message": text}, sent_by="ann")
        return self.then(sent, outside=True)


def begun() -> Log:
    """A Run that a Worker has begun to drive."""
    return Log().admitted().wait(1).attempt()


def rich() -> Log:
    """A settled Run with a bit of everything."""
    log = begun().asks().wait(1).fails("transient", retry=True).tries_again().wait(2)
    log.attempt(reclaimed=True).tries_again().wait(1)
    log.says("I will pay.", ("pay", {"to": "x"}), ("pay", {"to": "y"}), ("pay", "not json"))
    log.ends(2, ToolOutcome.REFUSED, kind="malformed_arguments").suspends(0).suspends(1)
    log.wait(30).sends("qe_1", "hurry").decides(0, approved=True, edited={"to": "z"}).wait(30)
    log.starts(0, decision="approved", wait_id=log.wait_of(0), edited={"to": "z"}).wait(2)
    log.ends(0, result={"paid": True}, seconds=2).decides(1, approved=False).wait(1)
    log.ends(1, ToolOutcome.REFUSED, kind="denied")
    log.asks("qe_1").wait(1).says("Almost.", cost=None, prompt="Be quick.").sends(
        "qe_2", "and then?", QueueKind.FOLLOW_UP
    )
    log.asks("qe_2").wait(1).says("", ("pay", {}), usage=None).starts(safe_to_retry=True).wait(5)
    log.attempt(reclaimed=True).starts(run_number=2, safe_to_retry=True).wait(1)
    log.ends(outcome=ToolOutcome.ERROR, kind="ValueError", seconds=1)
    log.asks().wait(1).says("", ("pay", {})).ends(outcome=ToolOutcome.REFUSED, kind="failure_streak")
    return log.asks().wait(1).says("Done.").completed({"text": "Done."})


class Unsealed(PlainCodec):
    """A codec whose keys are destroyed."""

    def open(self, sealed: bytes, *, scope: Scope, bound: bytes) -> bytes | None:
        return None


def erased(log: Log) -> Log:
    """`log` as it reads once the keys of its content are destroyed."""
    scope, head = Scope(tenant="acme"), GENESIS
    read, codec = Log(), Unsealed()
    for record in log.records:
        entry = encode(record, after=head, scope=scope, codec=codec)
        head = entry.head
        read.records.append(decode(entry, run_id=RUN, scope=scope, codec=codec))
    return read
