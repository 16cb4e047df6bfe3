"""Performs `CallModel`: offer, prompt, request, stream, and the record of what came."""

from __future__ import annotations

import asyncio
import logging
from contextlib import aclosing
from dataclasses import dataclass

import anyio
from pydantic import ValidationError

from psych_runtime.attempt.asked_again import warn_when_asked_again
from psych_runtime.attempt.asking import Asking
from psych_runtime.attempt.broken_call import BrokenCall, may_have_begun, problem_of, status_of
from psych_runtime.attempt.context import AttemptContext
from psych_runtime.attempt.cut import UNWIND_SECONDS
from psych_runtime.attempt.first import within
from psych_runtime.attempt.permission import permitted
from psych_runtime.model.assemble import Answer, Assembly
from psych_runtime.model.by_model import provider_of
from psych_runtime.model.prices.pricing import PricedCall, resolve_cost
from psych_runtime.tools.ending import Raised
from psych_runtime.tools.invoke import CodeRun
from psych_runtime_core.arguments import arguments_or_text
from psych_runtime_core.engine import wording
from psych_runtime_core.engine.effects import CallModel, ModelProblem
from psych_runtime_core.engine.ending import answer_too_large
from psych_runtime_core.engine.retry import failed_call
from psych_runtime_core.ids import ToolCallId, call_digest, derive_call_id
from psych_runtime_core.messages import ModelSource, ToolCall
from psych_runtime_core.ports.model import StreamDone
from psych_runtime_core.records import Record, fits
from psych_runtime_core.records.facts import AnnouncedCall, FailureKind, ModelTimings, Sent, ToolFailure
from psych_runtime_core.records.turn import ModelCallFinished
from psych_runtime_core.state.lane import LaneState
from psych_runtime_core.usage import Cost

logger = logging.getLogger("psych_runtime.attempt")
# An answer so small fits, whatever stands beside it; a larger one is measured.
SURELY_FITS = 256 * 1024


async def call_model(effect: CallModel, attempt: AttemptContext) -> Record:
    """One try. It never raises for a model that misbehaves: what it saw is in the record."""
    # The lane stands still while its model is called, and is gone as soon as an end of the Run is staged.
    lane = attempt.state.lanes[effect.lane]
    return await _Try(effect, attempt, lane, begun_at=attempt.clock.monotonic()).made()


@dataclass
class _Try:
    effect: CallModel
    attempt: AttemptContext
    lane: LaneState
    begun_at: float
    requested_at: float | None = None
    first_at: float | None = None
    sent: Sent | None = None

    async def made(self) -> Record:
        fault = self.attempt.conversation.prompt().check()
        if fault is not None:
            text = wording.invalid_prompt(fault.seq, fault.detail)
            return self._failed(ToolFailure(kind=FailureKind.INVALID_PROMPT, message=text))
        ending = await self._heard()
        if isinstance(ending, Raised):
            return self._broken(ending.error)
        try:
            record = self._recorded(ending)
        except ValidationError as error:
            # What a client puts into the end of its stream may be anything.
            return self._decided(self._problem(problem_of(error), None))
        return record if self._fits(ending, record) else self._unfit(ending)

    async def _heard(self) -> Answer | Raised:
        """The answer, or whatever the client raised. One that swallows its cancellation holds nobody."""
        answers: list[Answer] = []

        async def ask() -> None:
            answers.append(await self._ask())

        code = CodeRun(ask, threads=None, context=None)
        try:
            ending = await code.wait()
        except asyncio.CancelledError:
            code.cut()
            with anyio.CancelScope(shield=True):
                await within(UNWIND_SECONDS, self.attempt.clock, code.wait)
            raise
        return ending if isinstance(ending, Raised) else answers[0]

    async def _ask(self) -> Answer:
        runtime = self.attempt.runtime
        allowed = await permitted(runtime.policy, self.attempt.state.scope)
        asking = Asking.of(self.attempt, self.effect, self.attempt.offer(allowed))
        self.sent = asking.sent
        prompt = self.attempt.conversation.prompt(asking.block, asking.notices)
        request = asking.request(await self.attempt.outputs.media.loaded(prompt))
        context = asking.context(self.lane.failures)
        provider = provider_of(runtime.model, self.effect.model)
        assembly = Assembly(ModelSource(provider=provider, model=self.effect.model), self._call_id)
        self.requested_at = self.attempt.clock.monotonic()
        async with aclosing(runtime.model.stream(request, context)) as events:
            async for event in events:
                if self.first_at is None:
                    self.first_at = self.attempt.clock.monotonic()
                assembly.feed(event)
        return assembly.finish()

    def _call_id(self, ordinal: int) -> ToolCallId:
        return derive_call_id(self.attempt.state.run_id, self.effect.lane, self.effect.turn, ordinal)

    def _announced(self, call: ToolCall) -> AnnouncedCall:
        asked = arguments_or_text(call.arguments)
        digest = call_digest(self.attempt.state.digest_salt, call.name, asked)
        return AnnouncedCall(call_id=call.id, name=call.name, arguments_digest=digest)

    def _recorded(self, answer: Answer) -> Record:
        return self._finished(answer) if answer.message.says_something else self._empty(answer)

    def _finished(self, answer: Answer) -> ModelCallFinished:
        assert self.sent is not None, "an answer follows a request"
        effect, done = self.effect, answer.done
        return ModelCallFinished(
            lane=effect.lane,
            turn=effect.turn,
            try_number=effect.try_number,
            model=effect.model,
            message=answer.message,
            calls=tuple(self._announced(call) for call in answer.message.tool_calls),
            finish_reason=done.finish_reason,
            raw_finish_reason=done.raw_finish_reason,
            usage=done.usage,
            cost=self._cost(done),
            timings=self._timings(),
            sent=self.sent,
            served_model=done.served_model,
            response_id=done.response_id,
            service_tier=done.service_tier,
        )

    def _fits(self, answer: Answer, record: Record) -> bool:
        """Whether a log can hold it, with the prompt that may stand in the same record."""
        prompt = len(self.sent.system_prompt or "") if self.sent else 0
        return answer.size + prompt < SURELY_FITS or fits(record)

    def _unfit(self, answer: Answer) -> Record:
        return self._paid(answer_too_large(), answer)

    def _empty(self, answer: Answer) -> Record:
        failure = ToolFailure(
            kind=FailureKind.EMPTY_RESPONSE, message=wording.empty_response(), transient=True
        )
        return self._paid(failure, answer)

    def _paid(self, failure: ToolFailure, answer: Answer) -> Record:
        """A failure that was paid for all the same."""
        return self._decided(self._problem(failure, answer.done))

    def _broken(self, error: BaseException) -> Record:
        """A try that raised. What its provider told of its price until then counts."""
        failure, told = problem_of(error), BrokenCall.of(error)
        if self.requested_at is None:
            return self._failed(failure)
        if self.first_at is None and not told.has_figures and not may_have_begun(error):
            return self._failed(failure, status_of(error))
        return self._decided(self._problem(failure, told), status_of(error))

    def _problem(self, failure: ToolFailure, told: StreamDone | BrokenCall | None) -> ModelProblem:
        """A failure of a call that had begun, with what its provider `told` of its price."""
        usage, cost = (None, None) if told is None else (told.usage, self._cost(told))
        return ModelProblem(failure, usage, cost, self._timings(), self.sent, begun=True)

    def _cost(self, done: StreamDone | BrokenCall) -> Cost | None:
        runtime = self.attempt.runtime
        call = PricedCall(
            model=self.effect.model,
            at=self.attempt.clock.now(),
            provider=provider_of(runtime.model, self.effect.model),
            usage=done.usage,
            reported=done.cost,
            served_model=done.served_model,
            tier=done.service_tier,
        )
        try:
            return resolve_cost(call, runtime.prices, runtime.cost_policy)
        except Exception:
            # A paid answer is not lost for its price: the cost is unknown.
            logger.exception("the price of %s could not be looked up", self.effect.model)
            return None

    def _failed(self, failure: ToolFailure, status: object = None) -> Record:
        return self._decided(ModelProblem(failure, timings=self._timings(), sent=self.sent), status)

    def _decided(self, problem: ModelProblem, status: object = None) -> Record:
        attempt, now = self.attempt, self.attempt.clock.now()
        record = failed_call(attempt.plan, attempt.state, self.lane, problem, now)
        nth = f"{self.lane.retries_used + 1} of {attempt.plan.limits.transient_retry_budget}"
        warn_when_asked_again(attempt.state.run_id, record, status, nth, now)
        return record

    def _timings(self) -> ModelTimings:
        now = self.attempt.clock.monotonic()
        requested = now if self.requested_at is None else self.requested_at
        return ModelTimings(
            queue_wait_seconds=requested - self.begun_at,
            time_to_first_token_seconds=None if self.first_at is None else self.first_at - requested,
            stream_duration_seconds=now - requested,
        )
