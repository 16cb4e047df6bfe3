"""The rules of publishing an HTTP tool: its placeholders are arguments, its credential is there."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import cast

from psych_runtime_core.errors import Loc, ValidationIssue, pointer
from psych_runtime_core.jsonvalue import Json
from psych_runtime_core.spec.agent import AgentSpec
from psych_runtime_core.spec.http_tool import HttpTool
from psych_runtime_core.spec.issues import IssueCode
from psych_runtime_core.spec.templates import names_in, pieces_of, url_template
from psych_runtime_core.spec.validate.context import ValidationContext
from psych_runtime_core.spec.validate.nearest import unknown


def placeholders_are_arguments(spec: AgentSpec, _context: ValidationContext) -> Iterator[ValidationIssue]:
    """Each name that a tool places is a property of its schema, in the path a required one; `{}` has any."""
    for index, tool in enumerate(spec.tools):
        if isinstance(tool, HttpTool) and tool.input_schema:
            yield from _unplaced(("tools", index), tool)


def _unplaced(at: Loc, tool: HttpTool) -> Iterator[ValidationIssue]:
    code, what = IssueCode.UNKNOWN_PLACEHOLDER, "argument"
    properties = cast("Mapping[str, Json]", tool.input_schema.get("properties", {}))
    required = cast("Collection[str]", tool.input_schema.get("required", ()))
    template = url_template(tool.url)
    path_names = dict.fromkeys(template.path_names)
    places = [((*at, "url"), name) for name in dict.fromkeys((*path_names, *template.query_names))]
    places += [((*at, "query", place), name) for place, name in enumerate(tool.query)]
    for header, value in tool.headers.items():
        places += [((*at, "headers", header), name) for name in dict.fromkeys(names_in(pieces_of(value)))]
    for loc, name in places:
        if name not in properties:
            yield unknown(code, pointer(loc), what, name, properties.keys())
        elif loc[-1] == "url" and name in path_names and name not in required:
            message = f"{name!r} stands in the path, so input_schema must list it in required"
            yield ValidationIssue(code, pointer(loc), message)


def credentials_are_known(spec: AgentSpec, context: ValidationContext) -> Iterator[ValidationIssue]:
    """Each secret that is named is one that the publisher knows of."""
    known = context.credentials
    if known is None:
        return
    for index, tool in enumerate(spec.tools):
        if isinstance(tool, HttpTool) and tool.credential is not None and tool.credential not in known:
            path = pointer(("tools", index, "credential"))
            yield unknown(IssueCode.UNKNOWN_CREDENTIAL, path, "credential", tool.credential, known)
