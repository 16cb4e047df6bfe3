"""One record of each type with every field said, and one with as few as it takes."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from psych_runtime_core.ids import RunId, ToolCallId, VersionHash, WaitId, WorkerId
from psych_runtime_core.jsonvalue import FrozenDict
from psych_runtime_core.messages import (
    AssistantMessage,
    FilePart,
    FinishReason,
    ImagePart,
    Media,
    ModelSource,
    OpaquePart,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCall,
    ToolClass,
)
from psych_runtime_core.records import Record, stamp
from psych_runtime_core.records.facts import (
    AnnouncedCall,
    ModelTimings,
    OfferedTool,
    QueueKind,
    ResultAttachment,
    Sent,
    SuspendReason,
    TerminalState,
    ToolFailure,
    ToolOutcome,
)
from psych_runtime_core.records.queue import QueueConsumed, QueueEnqueued
from psych_runtime_core.records.run import AbortRequested, AttemptStarted, RunAdmitted, RunSettled
from psych_runtime_core.records.tool import ToolCallFinished, ToolCallStarted
from psych_runtime_core.records.turn import ModelCallFailed, ModelCallFinished, ModelCallStarted, TurnStarted
from psych_runtime_core.records.wait import Resumed, Suspended
from psych_runtime_core.scope import Scope
from psych_runtime_core.usage import Cost, Usage

RUN = RunId("run_1")
SCOPE = Scope(tenant="acme", principal="ada", labels={"team": "blue"})
CALL = ToolCallId("call_1")
WAIT = WaitId("wait_1")
AT = datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=UTC)
LATER = datetime(2026, 1, 2, 4, 0, tzinfo=UTC)
A, B = "a" * 64, "b" * 64
OBJECT = FrozenDict({"n": 2**80, "t": "naïve \ud800 \x00", "x": 0.5})
FAILURE = ToolFailure(
    kind="timeout",
    message="it took too long",
    traceback="Traceback: …",
    transient=True,
    code="504",
    retry_after_seconds=2.5,
)
USAGE = Usage(
    input=100,
    output=20,
    cache_read=1,
    cache_write=2,
    cache_write_1h=3,
    reasoning=4,
    input_audio=5,
    output_audio=6,
)
COST = Cost(
    amount=Decimal("0.00012300"),
    currency="EUR",
    model="m-1",
    source="computed",
    catalog="prices 1",
    input_amount=Decimal("0.0001"),
    output_amount=Decimal("0.00002"),
    cache_read_amount=Decimal("0.000002"),
    cache_write_amount=Decimal("0.000001"),
)
TIMINGS = ModelTimings(queue_wait_seconds=0.25, time_to_first_token_seconds=0.5, stream_duration_seconds=1.0)
SENT = Sent(
    prompt_hash=A,
    tools_hash=B,
    system_prompt="You help.",
    tools=(OfferedTool(name="pay", source="http", tool_class=ToolClass.DESTRUCTIVE, digest=A),),
    notices=("This is the last turn.",),
    output_mode="tool",
)
SOURCE = ModelSource(provider="openai", model="m-1")
MESSAGE = AssistantMessage(
    parts=(
        ReasoningPart(text="hm", opaque={"signature": "s"}),
        TextPart(text="I pay.", opaque={"mark": 1}),
        RefusalPart(text="not all"),
        ToolCall(id=CALL, name="pay", arguments='{"n":1}', provider_id="p_1", opaque=["x"]),
        OpaquePart(kind="redacted", opaque="blob"),
        ImagePart(media=Media(media_type="image/png", data=b"\x89PNG"), detail="low"),
        FilePart(media=Media(media_type="application/pdf", url="https://example.com/a.pdf"), name="a.pdf"),
    ),
    source=SOURCE,
)


def _stamped(record: Any) -> Record:
    stamped: Record = stamp(record, run_id=RUN, seq=7, at=AT, tenant="acme", epoch=3)
    return stamped


_FULL: tuple[Record, ...] = (
    RunAdmitted(
        version_hash=VersionHash("sha256:1"),
        scope=SCOPE,
        input=OBJECT,
        idempotency_key="order-1",
        deadline_at=LATER,
        not_before=LATER,
        digest_salt=bytes(range(16)),
        root_run_id=RUN,
    ),
    AttemptStarted(
        worker_id=WorkerId("worker-1"), attempt_number=2, reclaimed_expired_lease=True, library="1.0.0"
    ),
    RunSettled(state=TerminalState.FAILED, output=OBJECT, failure=FAILURE, answer_seq=6),
    TurnStarted(turn=2, repair="/a: is missing"),
    ModelCallStarted(turn=2, try_number=3, model="m-1"),
    ModelCallFinished(
        turn=2,
        try_number=3,
        model="m-1",
        message=MESSAGE,
        calls=(AnnouncedCall(call_id=CALL, name="pay", arguments_digest=A),),
        finish_reason=FinishReason.TOOL_CALLS,
        raw_finish_reason="tool_use",
        usage=USAGE,
        cost=COST,
        timings=TIMINGS,
        sent=SENT,
        served_model="m-1-2026",
        response_id="resp_1",
        service_tier="flex",
    ),
    ModelCallFailed(
        turn=2,
        try_number=3,
        model="m-1",
        failure=FAILURE,
        next="retry",
        retry_at=LATER,
        next_model="m-2",
        begun=True,
        usage=USAGE,
        cost=COST,
        timings=TIMINGS,
        sent=SENT,
    ),
    ToolCallStarted(
        call_id=CALL,
        tool="pay",
        turn=2,
        run_number=2,
        arguments_digest=A,
        arguments=OBJECT,
        decision="approved",
        wait_id=WAIT,
        tool_class=ToolClass.DESTRUCTIVE,
        interruptible=True,
        safe_to_retry=True,
        probe=True,
    ),
    ToolCallFinished(
        call_id=CALL,
        tool="pay",
        turn=2,
        outcome=ToolOutcome.OK,
        result=OBJECT,
        duration_seconds=1.5,
        recovered=True,
        answer_digest=A,
        preview="{…",
        result_handle="res_1",
        result_bytes=70,
        attachments=(
            ResultAttachment(
                name="chart.png",
                handle="out_1",
                content_type="image/png",
                size_bytes=4,
                observed_bytes=9,
                truncated=True,
                data=b"\x89PNG",
                stored="inline",
                sha256=B,
                readable=False,
            ),
            ResultAttachment(
                name="log",
                handle="out_2",
                content_type="text/plain",
                size_bytes=0,
                observed_bytes=70_000_000,
                stored="preview_only",
            ),
        ),
        media=(ImagePart(media=Media(media_type="image/png", data=b"\x89PNG")),),
    ),
    Suspended(
        wait_id=WAIT,
        reason=SuspendReason.APPROVAL,
        due_at=LATER,
        call_id=CALL,
        tool="pay",
        tool_class=ToolClass.DESTRUCTIVE,
        arguments_digest=A,
        question="May it pay?",
    ),
    Resumed(
        wait_id=WAIT,
        approved=True,
        payload={"note": "fine"},
        arguments=OBJECT,
        shown_digest=A,
        arguments_digest=B,
        remember="arguments",
        resumed_by="bob",
    ),
    AbortRequested(reason="enough", requested_by="bob"),
    QueueEnqueued(entry_id="qe_1", queue=QueueKind.FOLLOW_UP, payload=OBJECT, sent_by="bob"),
    QueueConsumed(entry_id="qe_1", turn=2),
)

_BARE: tuple[Record, ...] = (
    RunAdmitted(
        version_hash=VersionHash("sha256:1"),
        scope=Scope(tenant="acme"),
        deadline_at=LATER,
        digest_salt=bytes(16),
        root_run_id=RUN,
    ),
    AttemptStarted(worker_id=WorkerId("worker-1"), attempt_number=1, library="1.0.0"),
    RunSettled(state=TerminalState.ABORTED),
    TurnStarted(turn=1),
    ModelCallStarted(turn=1, try_number=1, model="m-1"),
    ModelCallFinished(
        turn=1,
        try_number=1,
        model="m-1",
        message=AssistantMessage(source=SOURCE),
        finish_reason=FinishReason.STOP,
        sent=Sent(prompt_hash=A, tools_hash=B),
    ),
    ModelCallFailed(turn=1, try_number=1, model="m-1", failure=ToolFailure(kind="auth"), next="stop"),
    ToolCallStarted(
        call_id=CALL,
        tool="pay",
        turn=1,
        arguments_digest=A,
        tool_class=ToolClass.WRITE,
        interruptible=False,
        safe_to_retry=False,
        probe=False,
    ),
    ToolCallFinished(call_id=CALL, tool="pay", turn=1, outcome=ToolOutcome.ABORTED),
    Suspended(
        wait_id=WAIT,
        reason=SuspendReason.APPROVAL,
        due_at=LATER,
        call_id=CALL,
        tool="pay",
        tool_class=ToolClass.DESTRUCTIVE,
        arguments_digest=A,
    ),
    Resumed(wait_id=WAIT, cause="expired"),
    AbortRequested(),
    QueueEnqueued(entry_id="qe_1", queue=QueueKind.STEER, payload={}),
    QueueConsumed(entry_id="qe_1", turn=1),
)

# What no record holds beside a result of its own.
_OFFLOADED = ToolCallFinished(
    call_id=CALL,
    tool="pay",
    turn=2,
    outcome=ToolOutcome.OK,
    answer_digest=A,
    preview="{…",
    result_handle="res_1",
    result_bytes=400_000,
    result_blob_key="call_1.3",
    result_content_type="application/json",
    media=(
        FilePart(
            media=Media(media_type="application/pdf", blob_key="call_1.3.0", size_bytes=9, sha256=B),
            name="a.pdf",
        ),
    ),
)

FULL: dict[str, Record] = {record.type: _stamped(record) for record in _FULL}
BARE: dict[str, Record] = {record.type: _stamped(record) for record in _BARE}
OFFLOADED: dict[str, Record] = {_OFFLOADED.type: _stamped(_OFFLOADED)}
