"""How a call's result is recorded, whoever found it out."""

from __future__ import annotations

from collections.abc import Sequence

from psych_runtime_core.ids import content_digest, encoded_digest
from psych_runtime_core.jsonvalue import Json, encode_json
from psych_runtime_core.records.facts import ResultAttachment, ToolFailure, ToolOutcome
from psych_runtime_core.records.tool import ToolCallFinished
from psych_runtime_core.state.calls import CallState
from psych_runtime_core.state.run import RunStateView


def ended(call: CallState, outcome: ToolOutcome, failure: ToolFailure | None = None) -> ToolCallFinished:
    """The end of a call that gave no answer: `aborted` or `unknown`."""
    return _finished(call, outcome, failure)


def refused(state: RunStateView, call: CallState, failure: ToolFailure) -> ToolCallFinished:
    """The refusal of a call of which nothing began."""
    return _finished(call, ToolOutcome.REFUSED, failure, failure_digest(state, failure))


def answered(state: RunStateView, call: CallState, value: Json) -> ToolCallFinished:
    """The end of the call by which an answer is given."""
    encoded = encode_json(value)
    given = {"result": value, "result_bytes": len(encoded)}
    digest = result_digest(state.digest_salt, encoded)
    return _finished(call, ToolOutcome.OK, None, digest).model_copy(update=given)


def failed(state: RunStateView, call: CallState, failure: ToolFailure) -> ToolCallFinished:
    """The error of a call that ran."""
    return _finished(call, ToolOutcome.ERROR, failure, failure_digest(state, failure))


def result_digest(salt: bytes, encoded: bytes, files: Sequence[ResultAttachment] = ()) -> str:
    """The digest by which two equal results are known to be equal, `encoded` the canonical JSON of one."""
    told = encode_json([[file.name, file.content_type, file.sha256] for file in files]) if files else b""
    return encoded_digest(salt, encoded + told)


def failure_digest(state: RunStateView, failure: ToolFailure) -> str:
    """The digest by which two equal failures are known to be equal."""
    return content_digest(state.digest_salt, {"kind": failure.kind, "message": failure.message})


def _finished(
    call: CallState, outcome: ToolOutcome, failure: ToolFailure | None, answer_digest: str | None = None
) -> ToolCallFinished:
    return ToolCallFinished(
        lane=call.lane,
        call_id=call.call_id,
        tool=call.tool or call.name,
        turn=call.turn,
        outcome=outcome,
        failure=failure,
        answer_digest=answer_digest,
    )
