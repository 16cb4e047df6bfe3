"""A Wait that opens, and its answer."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import model_validator

from psych_runtime_core.content import Content
from psych_runtime_core.ids import Identifier, ToolCallId, WaitId
from psych_runtime_core.jsonvalue import EMPTY_OBJECT, RecordObject
from psych_runtime_core.messages import ToolClass
from psych_runtime_core.records.base import Digest, Instant, RecordModel, at_most
from psych_runtime_core.records.facts import SuspendReason


class Suspended(RecordModel):
    """A call waits for a person, who is shown the tool, its class and the arguments of this digest."""

    type: Literal["suspended"] = "suspended"
    wait_id: WaitId
    reason: SuspendReason
    due_at: Instant
    call_id: ToolCallId
    tool: Annotated[str, at_most(256)]
    tool_class: ToolClass
    arguments_digest: Digest
    question: Annotated[str, at_most(8_192), Content("")] = ""


class Resumed(RecordModel):
    """The answer to a Wait, or its expiry. `arguments_digest` is of what may run."""

    type: Literal["resumed"] = "resumed"
    wait_id: WaitId
    cause: Literal["answer", "expired"] = "answer"
    approved: bool | None = None
    payload: Annotated[RecordObject, Content({})] = EMPTY_OBJECT
    arguments: Annotated[RecordObject | None, Content()] = None
    shown_digest: Digest | None = None
    arguments_digest: Digest | None = None
    remember: Literal["tool", "arguments"] | None = None
    resumed_by: Identifier | None = None

    @model_validator(mode="after")
    def _only_a_decision_edits(self) -> Resumed:
        if self.arguments is not None and not self.approved:
            raise ValueError("only an approval changes the arguments")
        if self.remember is not None and self.approved is None:
            raise ValueError("only a decision is remembered")
        return self
