"""Anything a record may hold, hostile things first."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

from packages.core.tests.specs import json_values
from psych_runtime_core.ids import RunId, ToolCallId
from psych_runtime_core.messages import (
    AssistantMessage,
    FinishReason,
    ModelSource,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCall,
    ToolClass,
)
from psych_runtime_core.records import Record, stamp
from psych_runtime_core.records import facts as f
from psych_runtime_core.records.queue import QueueConsumed, QueueEnqueued
from psych_runtime_core.records.run import (
    FAILED_STATES,
    AbortRequested,
    AttemptStarted,
    RunAdmitted,
    RunSettled,
)
from psych_runtime_core.records.tool import ANSWERED, ToolCallFinished, ToolCallStarted
from psych_runtime_core.records.turn import ModelCallFailed, ModelCallFinished, ModelCallStarted, TurnStarted
from psych_runtime_core.records.wait import Resumed, Suspended
from psych_runtime_core.scope import Scope
from psych_runtime_core.usage import Cost, Usage

WORDS = ("", "\x00", "\ud800", "\udfff\ud800", "😀", "\n{}", "\u2028", '"', "\\u0000", "null", "é")
texts = st.one_of(st.sampled_from(WORDS), st.text(st.characters(exclude_categories=()), max_size=12))
names = st.text(st.characters(categories=("L", "N")), min_size=1, max_size=8)
values = json_values(texts)
objects = st.dictionaries(texts, values, max_size=3)
digests = st.text("0123456789abcdef", min_size=64, max_size=64)
moments = st.integers(-(10**15), 10**16)
instants = moments.map(lambda passed: datetime(2000, 1, 1, tzinfo=UTC) + timedelta(microseconds=passed))
numbers = st.integers(1, 2**40)
seconds = st.floats(0, 1e12, allow_nan=False)
flags = st.booleans()
amounts = st.decimals(0, 10**6, allow_nan=False, allow_infinity=False, places=9)


def maybe(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(st.none(), strategy)


def some(cls: type[Any], **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """A `cls` with any of `fields` left at their defaults, unless they are required."""
    required = {name for name, field in cls.model_fields.items() if field.is_required()}
    optional = {name: strategy for name, strategy in fields.items() if name not in required}
    needed = {name: fields[name] for name in required}
    return st.fixed_dictionaries(needed, optional=optional).map(lambda told: cls(**told))


usages = some(Usage, input=numbers, output=numbers, cache_read=maybe(numbers), reasoning=maybe(numbers))
costs = some(Cost, amount=amounts.map(Decimal), currency=st.sampled_from(("USD", "EUR")), model=maybe(names))
failures = some(
    f.ToolFailure,
    kind=texts,
    message=texts,
    traceback=maybe(texts),
    transient=flags,
    code=maybe(texts),
    retry_after_seconds=maybe(seconds),
)
timings = some(f.ModelTimings, queue_wait_seconds=seconds, time_to_first_token_seconds=maybe(seconds))
offered = some(f.OfferedTool, name=names, tool_class=st.sampled_from(ToolClass), digest=digests)
sent = some(
    f.Sent,
    prompt_hash=digests,
    tools_hash=digests,
    system_prompt=maybe(texts),
    tools=maybe(st.lists(offered, max_size=2).map(tuple)),
)
scopes = some(Scope, tenant=st.just("acme"), principal=maybe(names), labels=st.dictionaries(names, names))


@st.composite
def _answers(draw: st.DrawFn) -> dict[str, Any]:
    calls = [
        ToolCall(id=ToolCallId(f"call_{n}"), name=draw(texts), arguments=draw(texts))
        for n in range(draw(st.integers(0, 2)))
    ]
    spoken = draw(st.lists(st.sampled_from((TextPart, ReasoningPart, RefusalPart)), max_size=2))
    parts = (*(part(text=draw(texts)) for part in spoken), *calls)
    return {
        "message": AssistantMessage(parts=parts, source=ModelSource(provider=draw(texts), model=draw(texts))),
        "calls": tuple(
            f.AnnouncedCall(call_id=call.id, name=draw(texts), arguments_digest=draw(digests))
            for call in calls
        ),
    }


@st.composite
def _finished_models(draw: st.DrawFn) -> ModelCallFinished:
    return ModelCallFinished(
        turn=draw(numbers),
        try_number=draw(numbers),
        model=draw(names),
        finish_reason=draw(st.sampled_from(FinishReason)),
        raw_finish_reason=draw(maybe(texts)),
        usage=draw(maybe(usages)),
        cost=draw(maybe(costs)),
        timings=draw(timings),
        sent=draw(sent),
        served_model=draw(maybe(texts)),
        response_id=draw(maybe(texts)),
        **draw(_answers()),
    )


@st.composite
def _failed_models(draw: st.DrawFn) -> ModelCallFailed:
    retried = draw(flags)
    return ModelCallFailed(
        turn=draw(numbers),
        try_number=draw(numbers),
        model=draw(names),
        failure=draw(failures),
        next="retry" if retried else "stop",
        retry_at=draw(maybe(instants)) if retried else None,
        next_model=draw(names) if retried else None,
        usage=draw(maybe(usages)),
        cost=draw(maybe(costs)),
        sent=draw(maybe(sent)),
    )


@st.composite
def _attachments(draw: st.DrawFn) -> f.ResultAttachment:
    data = draw(maybe(st.binary(max_size=20)))
    return f.ResultAttachment(
        name=draw(names),
        handle=draw(names),
        content_type=draw(names),
        size_bytes=0 if data is None else len(data),
        observed_bytes=draw(st.integers(20, 2**40)),
        truncated=draw(flags),
        data=data,
        stored=draw(st.sampled_from(("blob", "preview_only"))) if data is None else "inline",
        sha256=draw(maybe(digests)),
        readable=draw(flags),
    )


@st.composite
def _finished_calls(draw: st.DrawFn) -> ToolCallFinished:
    outcome = draw(st.sampled_from(f.ToolOutcome))
    failed = outcome in {f.ToolOutcome.ERROR, f.ToolOutcome.REFUSED}
    offloaded = draw(flags)
    return ToolCallFinished(
        call_id=ToolCallId("call_1"),
        tool=draw(texts),
        turn=draw(numbers),
        outcome=outcome,
        result=None if offloaded else draw(values),
        failure=draw(failures) if failed else None,
        duration_seconds=draw(seconds),
        recovered=draw(flags),
        answer_digest=draw(digests) if outcome in ANSWERED else None,
        preview=draw(maybe(texts)),
        result_handle=draw(maybe(names.map("res_{}".format).filter(lambda handle: len(handle) <= 256))),
        result_bytes=draw(numbers),
        result_blob_key="call_1.1" if offloaded else None,
        result_content_type="application/json" if offloaded else None,
        attachments=draw(st.lists(_attachments(), max_size=3, unique_by=lambda file: file.handle).map(tuple)),
    )


@st.composite
def _settlements(draw: st.DrawFn) -> RunSettled:
    state = draw(st.sampled_from(f.TerminalState))
    return RunSettled(
        state=state,
        output=draw(maybe(objects)),
        failure=draw(failures) if state in FAILED_STATES else None,
        answer_seq=draw(maybe(numbers)),
    )


@st.composite
def _resumes(draw: st.DrawFn) -> Resumed:
    approved = draw(maybe(flags))
    remembered: st.SearchStrategy[Any] = st.sampled_from(("tool", "arguments"))
    return Resumed.model_validate(
        {
            "wait_id": "wait_1",
            "approved": approved,
            "payload": draw(objects),
            "arguments": draw(maybe(objects)) if approved else None,
            "shown_digest": draw(maybe(digests)),
            "arguments_digest": draw(maybe(digests)),
            "remember": draw(maybe(remembered)) if approved is not None else None,
            "resumed_by": draw(maybe(names)),
        }
    )


_called: Mapping[str, Any] = {"turn": numbers, "call_id": st.just("call_1")}
RECORDS: Mapping[str, st.SearchStrategy[Any]] = {
    "run_admitted": some(
        RunAdmitted,
        version_hash=names,
        scope=scopes,
        input=objects,
        idempotency_key=maybe(names),
        deadline_at=instants,
        not_before=maybe(instants),
        digest_salt=st.binary(min_size=16, max_size=16),
        root_run_id=names,
    ),
    "attempt_started": some(
        AttemptStarted, worker_id=names, attempt_number=numbers, reclaimed_expired_lease=flags, library=names
    ),
    "abort_requested": some(AbortRequested, reason=texts, requested_by=maybe(names)),
    "run_settled": _settlements(),
    "turn_started": some(TurnStarted, turn=numbers),
    "model_call_started": some(ModelCallStarted, turn=numbers, try_number=numbers, model=names),
    "model_call_finished": _finished_models(),
    "model_call_failed": _failed_models(),
    "tool_call_started": some(
        ToolCallStarted,
        **_called,
        tool=names,
        run_number=numbers,
        arguments_digest=digests,
        arguments=maybe(objects),
        decision=st.sampled_from(("allowed", "approved", "remembered")),
        wait_id=maybe(names),
        tool_class=st.sampled_from(ToolClass),
        interruptible=flags,
        safe_to_retry=flags,
        probe=flags,
    ),
    "tool_call_finished": _finished_calls(),
    "suspended": some(
        Suspended,
        wait_id=names,
        reason=st.just("approval"),
        due_at=instants,
        call_id=names,
        tool=texts,
        tool_class=st.sampled_from(ToolClass),
        arguments_digest=digests,
        question=texts,
    ),
    "resumed": _resumes(),
    "queue_enqueued": some(
        QueueEnqueued,
        entry_id=names,
        queue=st.sampled_from(f.QueueKind),
        payload=objects,
        sent_by=maybe(names),
    ),
    "queue_consumed": some(QueueConsumed, entry_id=names, turn=numbers),
}


@st.composite
def stamped_records(draw: st.DrawFn) -> Record:
    """Any record of any type, with any envelope."""
    born = draw(st.one_of(*RECORDS.values()))
    record: Record = stamp(
        born,
        run_id=RunId("run_1"),
        seq=draw(numbers),
        at=draw(instants),
        tenant="acme",
        epoch=draw(st.integers(0, 9)),
    )
    return record
