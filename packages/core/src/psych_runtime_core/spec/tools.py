"""The tools that an agent is granted."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from psych_runtime_core.refusal import Refusal, refuse
from psych_runtime_core.spec.base import SpecModel, ToolName
from psych_runtime_core.spec.issues import IssueCode
from psych_runtime_core.spec.names import RESERVED_TOOL_NAMES


def _not_reserved(name: str) -> str:
    if name in RESERVED_TOOL_NAMES:
        refuse(Refusal(IssueCode.RESERVED_NAME, f"{name!r} is a tool of the runtime's own", name))
    return name


class CodeTool(SpecModel):
    """A function of the Worker's own process, by the name it is registered under; its schema lives there.

    `interruptible` lets an abort cancel it. `timeout_seconds` bounds one run of it, None leaves it unbounded.
    """

    kind: Literal["code"] = "code"
    name: Annotated[ToolName, AfterValidator(_not_reserved)]
    interruptible: bool = True
    timeout_seconds: float | None = Field(default=None, gt=0, le=86_400)
