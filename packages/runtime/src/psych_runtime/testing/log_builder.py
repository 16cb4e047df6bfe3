"""Logs for tests, one verb a record: legal ones, and on request corrupt ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, Self

from psych_runtime.testing.built_log import BuiltLog
from psych_runtime_core.arguments import arguments_or_text
from psych_runtime_core.ids import (
    ToolCallId,
    WaitId,
    WorkerId,
    call_digest,
    content_digest,
    derive_call_id,
    derive_entry_id,
    derive_wait_id,
)
from psych_runtime_core.jsonvalue import Json, encode_json
from psych_runtime_core.messages import (
    AssistantMessage,
    FinishReason,
    ModelSource,
    TextPart,
    ToolCall,
    ToolClass,
)
from psych_runtime_core.records.facts import (
    AnnouncedCall,
    FailureKind,
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
from psych_runtime_core.state.calls import CallState
from psych_runtime_core.state.lane import LaneState
from psych_runtime_core.usage import Usage

SALT = bytes(range(16))
MODEL = "test-model"
NO_LANE = LaneState(lane="", opened_seq=1)
Calls = Sequence[tuple[str, Mapping[str, Json] | str]]
"""The tool of each call and its arguments, or any text that a model wrote in their place."""


class LogBuilder(BuiltLog):
    """A log in the making. Each verb appends its record with what the log so far implies, or as told.

    A call is named by its ordinal in the turn, or by its id. `fields` set any field of the record, its
    envelope too. A record that may not follow raises `CorruptLog` from its own verb, until `unchecked`.
    """

    # --- a Run ---------------------------------------------------------------------------------------

    def admitted(self, input: Mapping[str, Json] | None = None, **fields: Any) -> Self:
        return self._add(
            RunAdmitted,
            fields,
            version_hash=self.version_hash,
            scope=self.scope,
            input={"message": "hello"} if input is None else input,
            deadline_at=self.start + timedelta(seconds=900),
            digest_salt=SALT,
            root_run_id=self.run_id,
        )

    def attempt(self, **fields: Any) -> Self:
        self._epoch = fields.setdefault("epoch", max(self._epoch, self._state.epoch + 1))
        number = self._state.attempt_count + 1
        return self._add(
            AttemptStarted, fields, worker_id=self._worker, attempt_number=number, library="0.0.0"
        )

    def abort(self, reason: str = "", **fields: Any) -> Self:
        return self._add(AbortRequested, fields, epoch=0, reason=reason)

    def settled(self, state: str | None = None, **fields: Any) -> Self:
        """By default `completed` with the lane's answer; without one `aborted`."""
        answer = self._lane.answer
        if state is None and answer is not None:
            output = {"text": answer.text}
            return self._add(RunSettled, fields, state="completed", output=output, answer_seq=answer.seq)
        terminal = TerminalState(state or "aborted")
        failed = terminal not in {TerminalState.COMPLETED, TerminalState.ABORTED}
        failure = ToolFailure(kind=FailureKind.PERMANENT, message="it failed") if failed else None
        return self._add(RunSettled, fields, state=terminal, failure=failure)

    # --- a turn --------------------------------------------------------------------------------------

    def turn(self, **fields: Any) -> Self:
        return self._add(TurnStarted, fields, turn=self._lane.turn + 1)

    def model_started(self, **fields: Any) -> Self:
        try_number = self._lane.try_number + 1
        return self._add(ModelCallStarted, fields, **{**self._asked(), "try_number": try_number})

    def model_finished(self, text: str = "", calls: Calls = (), **fields: Any) -> Self:
        written = [self._written(ordinal, *call) for ordinal, call in enumerate(calls)]
        parts = (*([TextPart(text=text)] if text else ()), *written)
        return self._add(
            ModelCallFinished,
            fields,
            **self._asked(),
            message=AssistantMessage(parts=parts, source=ModelSource(provider="test", model=MODEL)),
            calls=tuple(self._announced(call) for call in written),
            finish_reason=FinishReason.TOOL_CALLS if calls else FinishReason.STOP,
            usage=Usage(input=10, output=5),
            sent=Sent(prompt_hash="0" * 64, tools_hash="1" * 64),
        )

    def model_failed(self, kind: str = "transient", **fields: Any) -> Self:
        """By default tried again at once, with the same model."""
        lane = self._lane
        retried = fields.setdefault("next", "retry") == "retry"
        return self._add(
            ModelCallFailed,
            fields,
            **self._asked(),
            failure=ToolFailure(kind=kind, message="no answer", transient=kind == "transient"),
            next_model=(lane.model or MODEL) if retried else None,
        )

    # --- its calls -----------------------------------------------------------------------------------

    def tool_started(self, call: int | str = 0, **fields: Any) -> Self:
        held = self._call(call)
        approved = held.approved
        return self._add(
            ToolCallStarted,
            fields,
            call_id=held.call_id,
            tool=held.name,
            turn=held.turn,
            run_number=held.run_number + 1,
            arguments_digest=approved.arguments_digest if approved else held.arguments_digest,
            arguments=self._edited(held),
            decision="approved" if approved else "allowed",
            wait_id=approved.wait_id if approved else None,
            tool_class=ToolClass.WRITE,
            interruptible=True,
            safe_to_retry=False,
            probe=False,
        )

    def tool_finished(
        self, call: int | str = 0, result: Json = None, *, outcome: str = "ok", **fields: Any
    ) -> Self:
        """A failure and the digest of the answer stand where the outcome needs them."""
        ended = ToolOutcome(outcome)
        failure: ToolFailure | None = fields.pop("failure", None)
        if failure is None and ended in {ToolOutcome.ERROR, ToolOutcome.REFUSED}:
            failure = ToolFailure(kind="ValueError", message="it broke")
        answer: Json = {"kind": failure.kind, "message": failure.message} if failure else result
        held = self._call(call)
        return self._add(
            ToolCallFinished,
            fields,
            call_id=held.call_id,
            tool=held.tool or held.name,
            turn=held.turn,
            outcome=ended,
            result=result,
            failure=failure,
            answer_digest=content_digest(SALT, answer) if ended in ANSWERED else None,
        )

    def refused(self, call: int | str = 0, kind: str = "unknown_tool", **fields: Any) -> Self:
        failure = ToolFailure(kind=kind, message="it was refused")
        return self.tool_finished(call, outcome="refused", failure=failure, **fields)

    def suspended(self, call: int | str = 0, **fields: Any) -> Self:
        held = self._call(call)
        return self._add(
            Suspended,
            fields,
            wait_id=derive_wait_id(self.run_id, held.call_id, held.waits_opened),
            reason=SuspendReason.APPROVAL,
            due_at=self._now + timedelta(days=7),
            call_id=held.call_id,
            tool=held.name,
            tool_class=ToolClass.DESTRUCTIVE,
            arguments_digest=held.arguments_digest,
            question=f"May {held.name} run?",
        )

    def resumed(self, call: int | str = 0, approved: bool | None = True, **fields: Any) -> Self:
        """The answer to a call's Wait; `cause="expired"` with `approved=None` lets it expire."""
        held = self._call(call)
        expired, edited = fields.get("cause") == "expired", fields.get("arguments")
        runs = held.arguments_digest if edited is None else call_digest(SALT, held.name, edited)
        return self._add(
            Resumed,
            fields,
            epoch=self._epoch if expired else 0,
            wait_id=held.wait_id or WaitId("wait_none"),
            approved=approved,
            shown_digest=None if expired else held.arguments_digest,
            arguments_digest=runs if approved else None,
        )

    # --- messages ------------------------------------------------------------------------------------

    def enqueued(self, text: str = "more", queue: str = "steer", **fields: Any) -> Self:
        entry_id = derive_entry_id(self.run_id, str(len(self._state.entry_ids)))
        payload = {"message": text}
        kind = QueueKind(queue)
        return self._add(QueueEnqueued, fields, epoch=0, entry_id=entry_id, queue=kind, payload=payload)

    def consumed(self, entry_id: str | None = None, **fields: Any) -> Self:
        """By default the oldest pending one."""
        oldest = next((entry.entry_id for entry in self._state.pending), "qe_none")
        return self._add(QueueConsumed, fields, entry_id=entry_id or oldest, turn=self._turn)

    # --- several at once -----------------------------------------------------------------------------

    def call(
        self, tool: str, arguments: Mapping[str, Json], result: Json = None, *, outcome: str = "ok"
    ) -> Self:
        """A whole turn that makes one call."""
        self.turn().model_started().model_finished(calls=[(tool, arguments)])
        begun = self if outcome == "refused" else self.tool_started()
        return begun.tool_finished(result=result, outcome=outcome)

    def worker(self, worker_id: str, epoch: int) -> Self:
        """Who writes from the next `attempt` on."""
        self._worker, self._epoch = WorkerId(worker_id), epoch
        return self

    # --- what the log implies ------------------------------------------------------------------------

    @property
    def _lane(self) -> LaneState:
        return self._state.lanes.get("", NO_LANE)

    @property
    def _turn(self) -> int:
        return max(self._lane.turn, 1)

    def _asked(self) -> dict[str, Any]:
        """Which model call the lane is at, the first where it is at none."""
        lane = self._lane
        return {"turn": self._turn, "try_number": max(lane.try_number, 1), "model": lane.model or MODEL}

    def _call_id(self, ordinal: int) -> ToolCallId:
        return derive_call_id(self.run_id, "", self._turn, ordinal)

    def _call(self, call: int | str) -> CallState:
        call_id = self._call_id(call) if isinstance(call, int) else ToolCallId(call)
        unknown = CallState(call_id, "", self._turn, 0, "unknown", "", "0" * 64)
        return self._state.calls.get(call_id, unknown)

    def _edited(self, call: CallState) -> Mapping[str, Json] | None:
        """What a person put in place of the arguments, while their Wait is held."""
        wait = self._state.waits.get(call.wait_id) if call.wait_id else None
        return wait.answer.arguments if wait and wait.answer else None

    def _written(self, ordinal: int, tool: str, arguments: Mapping[str, Json] | str) -> ToolCall:
        text = arguments if isinstance(arguments, str) else encode_json(arguments).decode()
        return ToolCall(id=self._call_id(ordinal), name=tool, arguments=text, provider_id=f"call-{ordinal}")

    def _announced(self, call: ToolCall) -> AnnouncedCall:
        digest = call_digest(SALT, call.name, arguments_or_text(call.arguments))
        return AnnouncedCall(call_id=call.id, name=call.name, arguments_digest=digest)
