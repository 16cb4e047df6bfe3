"""The codes of what can be wrong with a Spec, and pydantic's errors as issues under them."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from psych_runtime_core.errors import ValidationIssue, pointer


class IssueCode(StrEnum):
    """What is wrong at a place of a Spec. The same code reaches the author through every door."""

    # Where a Spec is built or read.
    MISSING = "missing"
    UNKNOWN_FIELD = "unknown_field"
    WRONG_TYPE = "wrong_type"
    OUT_OF_BOUNDS = "out_of_bounds"
    BAD_NAME = "bad_name"
    BAD_URL = "bad_url"
    BAD_TEXT = "bad_text"
    BAD_SCHEMA = "bad_schema"
    NOT_JSON = "not_json"
    CALLABLE = "callable"
    TOO_DEEP = "too_deep"
    TOO_LARGE = "too_large"
    DUPLICATE_NAME = "duplicate_name"
    RESERVED_NAME = "reserved_name"
    LITERAL_SECRET = "literal_secret"
    CONFLICT = "conflict"
    BAD_SYNTAX = "bad_syntax"
    HASH_MISMATCH = "hash_mismatch"
    # Where it is published.
    UNKNOWN_MODEL = "unknown_model"
    UNKNOWN_TOOL = "unknown_tool"
    UNKNOWN_TOOL_CHOICE = "unknown_tool_choice"
    UNKNOWN_CREDENTIAL = "unknown_credential"
    UNKNOWN_PLACEHOLDER = "unknown_placeholder"
    TOO_MANY = "too_many"


def issues_from(error: ValidationError) -> tuple[ValidationIssue, ...]:
    """What pydantic found, as issues in its order. No class name, URL or value stands in a message."""
    return tuple(_issue(details) for details in error.errors(include_url=False))


def _issue(details: ErrorDetails) -> ValidationIssue:
    code, message = _judged(details)
    return ValidationIssue(code, pointer(details["loc"]), message)


def _judged(details: ErrorDetails) -> tuple[IssueCode, str]:
    kind, given = details["type"], details["input"]
    context: dict[str, Any] = details.get("ctx", {})
    if kind == "refused":
        return IssueCode(context["code"]), context["reason"]
    if callable(given):
        return IssueCode.CALLABLE, "a Spec holds nothing callable: register a tool and write its name"
    if kind in _FIXED:
        return _FIXED[kind]
    if kind == "literal_error":
        code = IssueCode.OUT_OF_BOUNDS if isinstance(given, str) else IssueCode.WRONG_TYPE
        return code, f"must be {context['expected']}"
    if kind.endswith(("too_long", "too_short")):
        unit = "characters" if isinstance(given, str) else "entries"
        return IssueCode.OUT_OF_BOUNDS, f"must have {_length(context)} {unit}"
    return IssueCode.OUT_OF_BOUNDS, details["msg"].replace("Input should be", "must be")


def _length(context: dict[str, Any]) -> str:
    if "max_length" in context:
        return f"at most {context['max_length']}"
    return f"at least {context['min_length']}"


_FIXED = {
    "missing": (IssueCode.MISSING, "must be given"),
    "extra_forbidden": (
        IssueCode.UNKNOWN_FIELD,
        "is no field of this release; the document may come from a newer one",
    ),
    "string_unicode": (IssueCode.BAD_TEXT, "holds a lone surrogate"),
    "string_type": (IssueCode.WRONG_TYPE, "must be text"),
    "int_type": (IssueCode.WRONG_TYPE, "must be an integer"),
    "float_type": (IssueCode.WRONG_TYPE, "must be a number"),
    "bool_type": (IssueCode.WRONG_TYPE, "must be true or false"),
    "tuple_type": (IssueCode.WRONG_TYPE, "must be a list"),
    "mapping_type": (IssueCode.WRONG_TYPE, "must be an object"),
    "dict_type": (IssueCode.WRONG_TYPE, "must be an object"),
    "model_type": (IssueCode.WRONG_TYPE, "must be an object"),
    "model_attributes_type": (IssueCode.WRONG_TYPE, "must be an object"),
}
