"""The tools that an agent is granted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, TypeAlias, cast

from pydantic import Field, ValidatorFunctionWrapHandler, WrapValidator

from psych_runtime_core.refusal import Refusal, refuse
from psych_runtime_core.spec.base import GrantedName, SpecModel
from psych_runtime_core.spec.http_tool import HttpTool
from psych_runtime_core.spec.issues import IssueCode


class CodeTool(SpecModel):
    """A function of the Worker's own process, by the name it is registered under; its schema lives there.

    `interruptible` lets an abort cancel it. `timeout_seconds` bounds one run of it, None leaves it unbounded.
    """

    kind: Literal["code"] = "code"
    name: GrantedName
    interruptible: bool = True
    timeout_seconds: float | None = Field(default=None, gt=0, le=86_400)


_KINDS: Mapping[str, type[CodeTool] | type[HttpTool]] = {"code": CodeTool, "http": HttpTool}


def _of_its_kind(given: object, _any: ValidatorFunctionWrapHandler) -> CodeTool | HttpTool:
    """The tool that `given` is, its faults at their own places and not at those of each kind there is."""
    if isinstance(given, CodeTool | HttpTool):
        return type(given).model_validate(given)
    if callable(given):
        refuse(Refusal(IssueCode.CALLABLE, _by_name(given), given))
    document = cast("Mapping[str, object]", given if isinstance(given, Mapping) else {})
    kind = document.get("kind", "code")
    if not isinstance(kind, str):
        refuse(Refusal(IssueCode.WRONG_TYPE, "must be text", kind, ("kind",)))
    if kind not in _KINDS:
        refuse(Refusal(IssueCode.OUT_OF_BOUNDS, "must be 'code' or 'http'", kind, ("kind",)))
    return _KINDS[kind].model_validate(given)


def _by_name(function: object) -> str:
    """How a function is granted: a Spec holds its name, and the Worker's process the function itself."""
    name = getattr(function, "__name__", "name")
    grant = f'write CodeTool(name="{name}")'
    return f"a Spec holds nothing callable: {grant}, and hand the function over with session(tools=[…])"


Tool: TypeAlias = Annotated[CodeTool | HttpTool, WrapValidator(_of_its_kind)]
