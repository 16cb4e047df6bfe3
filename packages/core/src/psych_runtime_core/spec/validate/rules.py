"""The rules of publishing an agent: one function each, its issues in the order of the document."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from psych_runtime_core.errors import ValidationIssue, pointer
from psych_runtime_core.jsonvalue import encode_json
from psych_runtime_core.spec.agent import AgentSpec
from psych_runtime_core.spec.issues import IssueCode
from psych_runtime_core.spec.tools import CodeTool
from psych_runtime_core.spec.validate.context import ValidationContext
from psych_runtime_core.spec.validate.http_tools import credentials_are_known, placeholders_are_arguments
from psych_runtime_core.spec.validate.in_clear import no_secret_in_clear
from psych_runtime_core.spec.validate.nearest import nearest, unknown

MAX_PROMPT_BYTES = 1_048_576
MAX_LISTED = 10
TOOL_CHOICE_WORDS = frozenset({"auto", "none", "required"})


def prompt_fits(spec: AgentSpec, _context: ValidationContext) -> Iterator[ValidationIssue]:
    """What the Spec adds to its prompt is bounded in bytes."""
    schema = spec.output_schema
    sizes = {
        "/instructions": len(spec.instructions.encode()),
        "/output_schema": 0 if schema is None else len(encode_json(schema)),
    }
    total = sum(sizes.values())
    if total > MAX_PROMPT_BYTES:
        message = f"{total:,} bytes for the prompt; it takes at most {MAX_PROMPT_BYTES:,} from its Spec"
        yield ValidationIssue(IssueCode.TOO_LARGE, max(sizes, key=lambda path: sizes[path]), message)


def models_are_known(spec: AgentSpec, context: ValidationContext) -> Iterator[ValidationIssue]:
    """The model and each fallback."""
    known = context.known_models
    if known is None:
        return
    for index, name in enumerate(spec.model.ring):
        if name not in known:
            path = f"/model/fallbacks/{index - 1}" if index else "/model/model"
            yield unknown(IssueCode.UNKNOWN_MODEL, path, "model", name, known)


def tool_choice_is_granted(spec: AgentSpec, _context: ValidationContext) -> Iterator[ValidationIssue]:
    """A tool that the model is told to choose is one that it is offered."""
    choice, granted = spec.model.tool_choice, [tool.name for tool in spec.tools]
    if choice not in TOOL_CHOICE_WORDS and choice not in granted:
        yield unknown(
            IssueCode.UNKNOWN_TOOL_CHOICE,
            "/model/tool_choice",
            "granted tool",
            choice,
            [*granted, *sorted(TOOL_CHOICE_WORDS)],
        )


def tools_are_registered(spec: AgentSpec, context: ValidationContext) -> Iterator[ValidationIssue]:
    """Each code tool is a registered function."""
    registered = context.registered_tools
    if registered is None:
        return
    for index, tool in enumerate(spec.tools):
        if isinstance(tool, CodeTool) and tool.name not in registered:
            path = pointer(("tools", index, "name"))
            known = _nearest_first(tool.name, registered)
            message = f"there is no registered tool {tool.name!r}; {known}. Pass it in session(tools=[…])"
            yield ValidationIssue(IssueCode.UNKNOWN_TOOL, path, message)


RULES = (
    prompt_fits,
    models_are_known,
    tool_choice_is_granted,
    tools_are_registered,
    placeholders_are_arguments,
    credentials_are_known,
    no_secret_in_clear,
)


def _nearest_first(name: str, registered: Collection[str]) -> str:
    names = list(dict.fromkeys((*nearest(name, registered), *sorted(registered))))
    more = ["…"] if len(names) > MAX_LISTED else []
    return f"registered: {', '.join([*names[:MAX_LISTED], *more])}" if names else "none is registered"
