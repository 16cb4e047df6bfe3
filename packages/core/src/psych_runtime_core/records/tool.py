"""A tool call that begins, and how a call ends."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from psych_runtime_core.content import Content
from psych_runtime_core.ids import ToolCallId, WaitId
from psych_runtime_core.jsonvalue import RecordObject, RecordValue
from psych_runtime_core.messages import FilePart, ImagePart, ToolClass
from psych_runtime_core.records.base import Count, Digest, Ordinal, RecordModel, Seconds, at_most
from psych_runtime_core.records.facts import ResultAttachment, ToolFailure, ToolOutcome

MAX_ATTACHMENTS = 512
Shown = Annotated[ImagePart | FilePart, Field(discriminator="type")]
ANSWERED = frozenset({ToolOutcome.OK, ToolOutcome.ERROR, ToolOutcome.REFUSED})


class ToolCallStarted(RecordModel):
    """A call begins. `arguments` stand here only when a person changed the announced ones."""

    type: Literal["tool_call_started"] = "tool_call_started"
    call_id: ToolCallId
    tool: Annotated[str, Field(min_length=1, max_length=256)]
    turn: Ordinal
    run_number: Ordinal = 1
    arguments_digest: Digest
    arguments: Annotated[RecordObject | None, Content()] = None
    decision: Literal["allowed", "approved", "remembered"] = "allowed"
    wait_id: WaitId | None = None
    tool_class: ToolClass
    interruptible: bool
    safe_to_retry: bool
    probe: bool


class ToolCallFinished(RecordModel):
    """The one result of a call. `result_bytes` is the size of its canonical JSON.

    A large one has a handle, by which it is read on, and a preview, which is what the model is told of it.
    It stands in `result` all the same, or in the blob of this Run that `result_blob_key` names. `media` are
    those of its files that the model is shown; it is told of the others.
    """

    type: Literal["tool_call_finished"] = "tool_call_finished"
    call_id: ToolCallId
    tool: Annotated[str, at_most(256)]
    turn: Ordinal
    outcome: ToolOutcome
    result: Annotated[RecordValue, Content()] = None
    failure: ToolFailure | None = None
    duration_seconds: Seconds = 0.0
    recovered: bool = False
    answer_digest: Digest | None = None
    preview: Annotated[Annotated[str, at_most(4_000)] | None, Content()] = None
    result_handle: Annotated[str, Field(min_length=1, max_length=256)] | None = None
    result_bytes: Count = 0
    result_blob_key: Annotated[str, Field(min_length=1, max_length=256)] | None = None
    result_content_type: Annotated[str, Field(min_length=1, max_length=128)] | None = None
    attachments: Annotated[tuple[ResultAttachment, ...], Field(max_length=MAX_ATTACHMENTS)] = ()
    media: Annotated[tuple[Shown, ...], Content(())] = ()

    @model_validator(mode="after")
    def _outcome_is_explained(self) -> ToolCallFinished:
        must = self.outcome in (ToolOutcome.ERROR, ToolOutcome.REFUSED)
        if (self.failure is not None) != must and self.outcome is not ToolOutcome.UNKNOWN:
            raise ValueError(f"a call that ends {self.outcome} {'has a' if must else 'has no'} failure")
        if (self.answer_digest is not None) != (self.outcome in ANSWERED):
            raise ValueError("the digest of the answer stands with ok, error and refused alone")
        return self

    @model_validator(mode="after")
    def _result_has_one_place(self) -> ToolCallFinished:
        if (self.result_blob_key is None) != (self.result_content_type is None):
            raise ValueError("a result in a blob has the key and the content type of that blob")
        if self.result_blob_key is not None and self.result is not None:
            raise ValueError("a result stands in the record or in a blob, not in both")
        return self

    @model_validator(mode="after")
    def _handles_are_distinct(self) -> ToolCallFinished:
        handles = [file.handle for file in self.attachments]
        if self.result_handle is not None:
            handles.append(self.result_handle)
        if len(set(handles)) < len(handles):
            raise ValueError("two parts of a result have one handle")
        return self
