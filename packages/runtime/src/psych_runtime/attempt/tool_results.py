"""How a tool ended, as the record of its call's result."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from psych_runtime.attempt.attachments import Attached, overflow_of
from psych_runtime.attempt.context import AttemptContext
from psych_runtime.attempt.out_of_reach import warn_when_out_of_reach
from psych_runtime.egress.pace import AT_ONCE, beside
from psych_runtime.secrets.masks import Masks
from psych_runtime.tools.convert import Converted, convert
from psych_runtime.tools.ending import Ending, Raised, Returned
from psych_runtime.tools.failures import EndUnseen, told_failure_of
from psych_runtime.tools.problem import Problem
from psych_runtime_core.engine import wording
from psych_runtime_core.engine.results import ended, failed, result_digest
from psych_runtime_core.records import MAX_BODY_BYTES
from psych_runtime_core.records.facts import FailureKind, ToolFailure, ToolOutcome
from psych_runtime_core.records.tool import ToolCallFinished
from psych_runtime_core.state.calls import CallState

PREVIEW = 2_000
# What a record holds, less what stands in it beside the result.
MAX_RECORDED_BYTES = MAX_BODY_BYTES - 64 * 1024


@dataclass(frozen=True, slots=True)
class ResultMaker:
    """Makes the result of one call. Its texts are what the model will be told; `masks` hides its secrets."""

    attempt: AttemptContext
    call: CallState
    masks: Masks

    async def of(self, ending: Ending) -> ToolCallFinished:
        """The result of code that ended by itself."""
        if isinstance(ending, Returned):
            return await self.value(ending.value)
        if isinstance(ending, Raised):
            return self._raised(ending.error)
        return ended(self.call, ToolOutcome.UNKNOWN)

    async def value(self, value: object, *, recovered: bool = False) -> ToolCallFinished:
        """The result of code that gave a value."""
        converted = convert(value)
        if isinstance(converted, Problem):
            message = self.masks.text(converted.message)
            return self._failed(ToolFailure(kind=converted.kind, message=message))
        unkept = self._unkept(converted)
        # What is not kept is not searched for secrets either.
        return unkept or self._kept(await self._masked(converted), recovered=recovered)

    async def _masked(self, converted: Converted) -> Converted:
        work = partial(converted.masked, self.masks)
        return work() if converted.size <= AT_ONCE or self.masks.is_empty else await beside(work)

    def _kept(self, converted: Converted, *, recovered: bool) -> ToolCallFinished:
        unkept = self._unkept(converted)
        if unkept is not None:
            # Names may be longer than the secrets that they stand for.
            return unkept
        owner = self.attempt.state.run_id, self.call.call_id
        attached = Attached.of(converted.files, owner, self.attempt.plan.spec.model.accepts)
        return ToolCallFinished(
            lane=self.call.lane,
            call_id=self.call.call_id,
            tool=self.call.tool or self.call.name,
            turn=self.call.turn,
            outcome=ToolOutcome.OK,
            result=converted.value,
            recovered=recovered,
            answer_digest=result_digest(
                self.attempt.state.digest_salt, converted.encoded, attached.attachments
            ),
            result_bytes=len(converted.encoded),
            attachments=attached.attachments,
            media=attached.media,
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
        warn_when_out_of_reach(self.call, error, self.masks)
        failure = told_failure_of(error, self.masks)
        if isinstance(error, EndUnseen):
            return ended(self.call, ToolOutcome.UNKNOWN, failure)
        return self._failed(failure)

    def _unkept(self, converted: Converted) -> ToolCallFinished | None:
        """The error of a result that is too large to be kept; None for one that is kept."""
        preview = self._preview(converted.encoded)
        kept = {"preview": preview, "result_bytes": len(converted.encoded)}
        overflow = overflow_of(converted, self.attempt.runtime.blob_offload_bytes)
        if overflow is not None:
            text = wording.blob_store_required(overflow.size_bytes, overflow.limit_bytes, preview)
            failure = ToolFailure(kind=FailureKind.BLOB_STORE_REQUIRED, message=text)
            return self._failed(failure).model_copy(update=kept)
        if len(converted.encoded) > MAX_RECORDED_BYTES:
            text = wording.result_too_large(MAX_RECORDED_BYTES)
            return self._failed(ToolFailure(kind=FailureKind.RESULT_TOO_LARGE, message=text))
        return None

    def _preview(self, encoded: bytes) -> str:
        """The beginning of a result, masked: no more of it is read than it takes."""
        text = encoded[: 4 * (PREVIEW + self.masks.reach)].decode("utf-8", "ignore")
        return self.masks.beginning(text, PREVIEW)[:PREVIEW]

    def _failed(self, failure: ToolFailure) -> ToolCallFinished:
        """An error; one that completes a streak says so too."""
        lane = self.attempt.state.lanes[self.call.lane]
        held = lane.streaks.get(self.call.tool or self.call.name)
        count = held.count + 1 if held else 1
        if count >= self.attempt.plan.limits.failure_streak_threshold:
            text = wording.failed_in_a_row(failure.message, count)
            failure = failure.model_copy(update={"message": text})
        return failed(self.attempt.state, self.call, failure)
