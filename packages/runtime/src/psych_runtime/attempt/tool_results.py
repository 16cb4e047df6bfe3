"""How a tool ended, as the record of its call's result."""

from __future__ import annotations

from dataclasses import dataclass

from psych_runtime.attempt.context import AttemptContext
from psych_runtime.tools.convert import Converted, convert
from psych_runtime.tools.ending import Ending, Raised, Returned
from psych_runtime.tools.failures import failure_of
from psych_runtime.tools.problem import Problem
from psych_runtime_core.engine import wording
from psych_runtime_core.engine.results import ended, failed
from psych_runtime_core.ids import encoded_digest
from psych_runtime_core.records import MAX_BODY_BYTES
from psych_runtime_core.records.facts import FailureKind, ToolFailure, ToolOutcome
from psych_runtime_core.records.tool import ToolCallFinished
from psych_runtime_core.state.calls import CallState

PREVIEW = 2_000
# What a record holds, less what stands in it beside the result.
MAX_RESULT_BYTES = MAX_BODY_BYTES - 64 * 1024


@dataclass(frozen=True, slots=True)
class ResultMaker:
    """Makes the result of one call. Its texts are what the model will be told."""

    attempt: AttemptContext
    call: CallState

    def of(self, ending: Ending) -> ToolCallFinished:
        """The result of code that ended by itself."""
        if isinstance(ending, Returned):
            return self.value(ending.value)
        if isinstance(ending, Raised):
            return self._raised(ending.error)
        return ended(self.call, ToolOutcome.UNKNOWN)

    def value(self, value: object, *, recovered: bool = False) -> ToolCallFinished:
        """The result of code that gave a value."""
        converted = convert(value)
        if isinstance(converted, Problem):
            return self._failed(ToolFailure(kind=converted.kind, message=converted.message))
        if len(converted.encoded) > self.attempt.runtime.blob_offload_bytes:
            return self._unkept(converted)
        if len(converted.encoded) > MAX_RESULT_BYTES:
            text = wording.result_too_large(MAX_RESULT_BYTES)
            return self._failed(ToolFailure(kind=FailureKind.RESULT_TOO_LARGE, message=text))
        return ToolCallFinished(
            lane=self.call.lane,
            call_id=self.call.call_id,
            tool=self.call.tool or self.call.name,
            turn=self.call.turn,
            outcome=ToolOutcome.OK,
            result=converted.value,
            recovered=recovered,
            answer_digest=encoded_digest(self.attempt.state.digest_salt, converted.encoded),
            result_bytes=len(converted.encoded),
        )

    def timed_out(self, seconds: float) -> ToolCallFinished:
        """The result of code that ran longer than it may."""
        text = wording.timed_out(seconds)
        return self._failed(ToolFailure(kind=FailureKind.TIMEOUT, message=text))

    def given_up(self) -> ToolCallFinished:
        """The end of code that would not end."""
        failure = ToolFailure(kind=FailureKind.FORCE_SETTLED, message=wording.given_up())
        return ended(self.call, ToolOutcome.UNKNOWN, failure)

    def _raised(self, error: BaseException) -> ToolCallFinished:
        seen = failure_of(error)
        text = wording.failed(seen.message, transient=seen.transient)
        return self._failed(seen.model_copy(update={"message": text}))

    def _unkept(self, converted: Converted) -> ToolCallFinished:
        preview = converted.encoded[: PREVIEW * 4].decode("utf-8", "ignore")[:PREVIEW]
        limit = self.attempt.runtime.blob_offload_bytes
        text = wording.blob_store_required(len(converted.encoded), limit, preview)
        failure = ToolFailure(kind=FailureKind.BLOB_STORE_REQUIRED, message=text)
        kept = {"preview": preview, "result_bytes": len(converted.encoded)}
        return self._failed(failure).model_copy(update=kept)

    def _failed(self, failure: ToolFailure) -> ToolCallFinished:
        """An error; one that completes a streak says so too."""
        lane = self.attempt.state.lanes[self.call.lane]
        held = lane.streaks.get(self.call.tool or self.call.name)
        count = held.count + 1 if held else 1
        if count >= self.attempt.plan.limits.failure_streak_threshold:
            text = wording.failed_in_a_row(failure.message, count)
            failure = failure.model_copy(update={"message": text})
        return failed(self.attempt.state, self.call, failure)
