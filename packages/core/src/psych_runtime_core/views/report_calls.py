"""The calls of a report, of models and of tools, and the Waits between them."""

from __future__ import annotations

from psych_runtime_core.ids import WaitId
from psych_runtime_core.jsonvalue import EMPTY_OBJECT
from psych_runtime_core.views.projection import RunProjection
from psych_runtime_core.views.report_model import ModelCallReport, SuspensionReport, ToolCallReport
from psych_runtime_core.views.transcript import CallRecords, TryRecords, WaitRecords


def model_call_report(view: RunProjection, records: TryRecords) -> ModelCallReport:
    """One try."""
    started, ended, finished, failed = records.started, records.ended, records.finished, records.failed
    sent = ended.sent if ended else None
    offered = view.toolsets.get(sent.tools_hash) if sent else None
    return ModelCallReport(
        lane=started.lane,
        turn=started.turn,
        try_number=started.try_number,
        model=started.model,
        served_model=finished.served_model if finished else None,
        prompt_hash=sent.prompt_hash if sent else None,
        tool_names=None if offered is None else tuple(tool.name for tool in offered),
        usage=ended.usage if ended else None,
        cost=ended.cost if ended else None,
        timings=ended.timings if ended else None,
        finish_reason=finished.finish_reason if finished else None,
        text=finished.text if finished else None,
        reasoning=finished.reasoning if finished else None,
        tool_call_ids=tuple(call.call_id for call in finished.calls) if finished else (),
        started_at=started.at,
        finished_at=ended.at if ended else None,
        failure=failed.failure if failed else None,
        will_retry=failed is not None and failed.will_retry,
        lost=records.lost,
        dangling=records.is_open and started.epoch < view.state.epoch,
    )


def tool_call_report(view: RunProjection, records: CallRecords) -> ToolCallReport:
    """One call."""
    answer, started, finished, wait = records.answer, records.started, records.finished, records.wait
    shown = started or (wait.suspended if wait else None)
    wait_id = _wait_id(records)
    return ToolCallReport(
        call_id=records.call_id,
        provider_id=records.written.provider_id if records.written else None,
        lane=answer.lane,
        turn=answer.turn,
        ordinal=records.ordinal,
        tool=records.tool,
        tool_class=shown.tool_class if shown else None,
        arguments=records.arguments,
        arguments_digest=(started or records.announced).arguments_digest,
        decision=started.decision if started else None,
        wait_id=wait_id,
        decided_by=_decided_by(view, wait_id),
        outcome=finished.outcome if finished else None,
        result=finished.result if finished else None,
        failure=finished.failure if finished else None,
        duration_seconds=finished.duration_seconds if finished else None,
        recovered=finished is not None and finished.recovered,
        result_handle=finished.result_handle if finished else None,
        preview=finished.preview if finished else None,
        result_bytes=finished.result_bytes if finished else None,
        result_blob_key=finished.result_blob_key if finished else None,
        result_content_type=finished.result_content_type if finished else None,
        attachments=finished.attachments if finished else (),
        announced_at=answer.at,
        started_at=started.at if started else None,
        finished_at=finished.at if finished else None,
        run_number=started.run_number if started else 0,
        interruptible=started.interruptible if started else None,
        safe_to_retry=started.safe_to_retry if started else None,
        dangling=records.is_dangling(view.state.epoch),
    )


def _wait_id(records: CallRecords) -> WaitId | None:
    """The Wait a call rests on, which a remembered decision took from another call; else its own."""
    if records.started is not None:
        return records.started.wait_id
    return records.wait.suspended.wait_id if records.wait else None


def _decided_by(view: RunProjection, wait_id: WaitId | None) -> str | None:
    wait = view.waits.get(wait_id) if wait_id else None
    return wait.resumed.resumed_by if wait and wait.resumed else None


def suspension_report(view: RunProjection, records: WaitRecords) -> SuspensionReport:
    """One Wait."""
    shown, answer = records.suspended, records.resumed
    ran = view.calls[shown.call_id].started
    return SuspensionReport(
        wait_id=shown.wait_id,
        reason=shown.reason,
        lane=shown.lane,
        call_id=shown.call_id,
        tool=shown.tool,
        arguments_digest=shown.arguments_digest,
        question=shown.question,
        suspended_at=shown.at,
        due_at=shown.due_at,
        resumed_at=answer.at if answer else None,
        cause=answer.cause if answer else None,
        approved=answer.approved if answer else None,
        arguments_edited=answer is not None and answer.arguments_digest not in (None, shown.arguments_digest),
        executed_digest=ran.arguments_digest if ran else None,
        payload=answer.payload if answer else EMPTY_OBJECT,
        remember=answer.remember if answer else None,
        resumed_by=answer.resumed_by if answer else None,
    )
