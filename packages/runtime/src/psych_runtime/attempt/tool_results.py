"""How a tool ended, as the record of its call's result."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from psych_runtime.attempt.attachments import Attached
from psych_runtime.attempt.context import AttemptContext
from psych_runtime.attempt.out_of_reach import warn_when_out_of_reach
from psych_runtime.attempt.placing import PlacedValue, Placing, overflow_of, preview_of
from psych_runtime.attempt.run_blobs import Blob
from psych_runtime.pace import AT_ONCE, beside
from psych_runtime.secrets.masks import Masks
from psych_runtime.tools.convert import Converted, Taken, take
from psych_runtime.tools.ending import Ending, Raised, Returned
from psych_runtime.tools.failures import EndUnseen, told_failure_of
from psych_runtime.tools.problem import Problem
from psych_runtime_core.engine import wording
from psych_runtime_core.engine.results import ended, failed, result_digest
from psych_runtime_core.errors import StoreUnavailable
from psych_runtime_core.records import MAX_BODY_BYTES
from psych_runtime_core.records.facts import FailureKind, ToolFailure, ToolOutcome
from psych_runtime_core.records.tool import ToolCallFinished
from psych_runtime_core.spec.names import READ_TOOL
from psych_runtime_core.state.calls import CallState

logger = logging.getLogger("psych_runtime.attempt")
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
        """The result of code that gave a value. A blob is there before the record that names it."""
        converted = await self._converted(value)
        if isinstance(converted, Problem):
            message = self.masks.text(converted.message)
            return self._failed(ToolFailure(kind=converted.kind, message=message))
        placing = self._placing
        # What is not kept is not searched for secrets either.
        unkept = self._unkept(converted, placing)
        if unkept is None:
            converted = await self._masked(converted)
            # Names may be longer than the secrets that they stand for.
            unkept = self._unkept(converted, placing)
        if unkept is not None:
            return unkept
        placed = PlacedValue.of(converted, placing, self.masks)
        attached = Attached.of(converted.files, placing, self.attempt.plan.spec.model.accepts)
        blobs = attached.blobs if placed.blob is None else (placed.blob, *attached.blobs)
        error = await self._put(blobs)
        if error is not None:
            return self._lost(converted, blobs, error)
        return self._kept(converted, placed, attached).model_copy(update={"recovered": recovered})

    async def _converted(self, value: object) -> Converted | Problem:
        taken = take(value)
        if not isinstance(taken, Taken):
            return taken
        return taken.converted() if taken.size <= AT_ONCE else await beside(taken.converted)

    async def _masked(self, converted: Converted) -> Converted:
        work = partial(converted.masked, self.masks)
        return work() if converted.size <= AT_ONCE or self.masks.is_empty else await beside(work)

    def _kept(self, converted: Converted, placed: PlacedValue, attached: Attached) -> ToolCallFinished:
        salt, blob = self.attempt.state.digest_salt, placed.blob
        return ToolCallFinished(
            lane=self.call.lane,
            call_id=self.call.call_id,
            tool=self.call.tool or self.call.name,
            turn=self.call.turn,
            outcome=ToolOutcome.OK,
            result=placed.value,
            answer_digest=result_digest(salt, converted.encoded, attached.attachments),
            preview=placed.preview,
            result_handle=placed.handle,
            result_bytes=len(converted.encoded),
            result_blob_key=None if blob is None else blob.name,
            result_content_type=None if blob is None else blob.content_type,
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

    @property
    def _placing(self) -> Placing:
        attempt, is_page = self.attempt, self.call.name == READ_TOOL
        return Placing(
            run_id=attempt.state.run_id,
            call_id=self.call.call_id,
            epoch=attempt.state.epoch,
            # A page of what was kept is itself told whole, or nothing could be read on.
            large_bytes=MAX_RECORDED_BYTES if is_page else attempt.plan.limits.large_result_bytes,
            offload_bytes=MAX_RECORDED_BYTES if is_page else attempt.runtime.blob_offload_bytes,
        )

    def _unkept(self, converted: Converted, placing: Placing) -> ToolCallFinished | None:
        """The error of a result that is too large to be kept; None for one that can be."""
        overflow = overflow_of(converted, placing)
        if overflow is not None and self.attempt.runtime.blobs is None:
            text = wording.blob_store_required(*overflow, preview_of(converted, self.masks))
            failure = ToolFailure(kind=FailureKind.BLOB_STORE_REQUIRED, message=text)
            return self._with_preview(failure, converted)
        if MAX_RECORDED_BYTES < len(converted.encoded) <= placing.offload_bytes:
            text = wording.result_too_large(MAX_RECORDED_BYTES)
            return self._failed(ToolFailure(kind=FailureKind.RESULT_TOO_LARGE, message=text))
        return None

    async def _put(self, blobs: Sequence[Blob]) -> Exception | None:
        """Put them where they belong; what kept them from being there."""
        try:
            for blob in blobs:
                await self.attempt.outputs.blobs.put(self.attempt.state.run_id, blob)
        except Exception as error:
            # A store may raise anything, and the call has taken effect: it ends with an error, not the Run.
            logger.exception("the result of %s could not be stored", self.call.call_id)
            return error
        return None

    def _lost(self, converted: Converted, blobs: Sequence[Blob], error: Exception) -> ToolCallFinished:
        """What could not be kept; only of a store that is away another try may be."""
        is_away = isinstance(error, StoreUnavailable)
        told = wording.blob_store_away if is_away else wording.result_unkept
        text = told(sum(len(blob.data) for blob in blobs), preview_of(converted, self.masks))
        failure = ToolFailure(kind=FailureKind.BLOB_STORE_REQUIRED, message=text, transient=is_away)
        return self._with_preview(failure, converted)

    def _with_preview(self, failure: ToolFailure, converted: Converted) -> ToolCallFinished:
        kept = {"preview": preview_of(converted, self.masks), "result_bytes": len(converted.encoded)}
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
