"""What is wrong with a document: a Spec, a schema, a value, a tool."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from psych_runtime_core.errors.base import Loc, PsychError, pointer


@dataclass(frozen=True, slots=True)
class ValidationIssue:
    """One thing that is wrong with a Spec: `path` is an RFC 6901 pointer into the document given."""

    code: str
    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path or '/'}: {self.code}: {self.message}"


class SpecValidationError(PsychError):
    """A Spec is wrong; `issues` holds everything that is wrong with it, in document order."""

    def __init__(self, issues: Sequence[ValidationIssue]) -> None:
        self.issues = tuple(issues)
        count = f"{len(self.issues)} issue{'s' if len(self.issues) != 1 else ''}"
        super().__init__("\n".join([f"the Spec has {count}:", *(f"  {issue}" for issue in self.issues)]))


@dataclass(frozen=True, slots=True)
class Violation:
    """One place where a value does not fit a JSON Schema: a pointer into the value, and what is wrong."""

    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path or '/'}: {self.message}"


class SchemaViolation(PsychError, ValueError):
    """A value does not fit the JSON Schema it was given for."""

    def __init__(self, violations: Sequence[Violation]) -> None:
        self.violations = tuple(violations)
        super().__init__("the value does not fit its schema: " + "; ".join(map(str, self.violations)))


class NotJson(PsychError, ValueError):
    """A value has no JSON form: `loc` leads to the part that has none, `code` is the kind of refusal."""

    def __init__(self, reason: str, code: str = "not_json", loc: Loc = ()) -> None:
        self.reason, self.code, self.loc = reason, code, loc
        super().__init__(f"{pointer(loc) or '/'}: {reason}")

    def below(self, *tokens: str | int) -> NotJson:
        """This error as the container sees it in which `tokens` lead to the value."""
        return NotJson(self.reason, self.code, (*tokens, *self.loc))


class BadSchema(PsychError, ValueError):
    """A JSON Schema that an author wrote cannot be used; `loc` leads to the part that is wrong."""

    def __init__(self, reason: str, loc: Loc = ()) -> None:
        self.reason, self.loc = reason, loc
        super().__init__(f"{pointer(loc) or '/'}: {reason}")


class ToolSchemaError(PsychError):
    """A function cannot be a tool as it is; the text says which line to write instead."""

    def __init__(self, tool: str, parameter: str | None, reason: str) -> None:
        self.tool, self.parameter, self.reason = tool, parameter, reason
        where = f"tool {tool!r}" + (f", parameter {parameter!r}" if parameter else "")
        super().__init__(f"{where}: {reason}")
