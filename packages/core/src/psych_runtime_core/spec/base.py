"""What every model of a Spec is, and the types that its fields are made of."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Protocol, Self, TypeVar, cast

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

from psych_runtime_core.errors import BadSchema
from psych_runtime_core.jsonvalue import Json, JsonObject
from psych_runtime_core.refusal import Refusal, refuse
from psych_runtime_core.schema import check_schema
from psych_runtime_core.spec.issues import IssueCode
from psych_runtime_core.spec.names import RESERVED_TOOL_NAMES

MAX_ENTRIES = 1_000


class SpecModel(BaseModel):
    """A frozen, closed value. Equal content is equal and hashes equal; no copy gets round the validation."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        allow_inf_nan=False,
        revalidate_instances="always",
        defer_build=True,
    )

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A copy with other values in the fields of `update`, validated like any others."""
        if not update:
            return super().model_copy(deep=deep)
        fields = {name: getattr(self, name) for name in type(self).model_fields}
        return type(self).model_validate({**fields, **update})


# --- text ------------------------------------------------------------------------------------------------

_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.-]{0,127}")
# 64 is what model providers take.
_TOOL_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_-]{0,63}")


def _whole(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        refuse(Refusal(IssueCode.BAD_TEXT, "holds a lone surrogate", text))
    return text


def _with_unix_lines(text: object) -> object:
    return text.replace("\r\n", "\n").replace("\r", "\n") if isinstance(text, str) else text


def _prose(text: str) -> str:
    if "\0" in text:
        refuse(Refusal(IssueCode.BAD_TEXT, "holds the character U+0000", text))
    return _whole(text)


def _line(text: str) -> str:
    if _CONTROLS.search(text):
        refuse(Refusal(IssueCode.BAD_TEXT, "holds a control character", text))
    return _whole(text)


def _matches(pattern: re.Pattern[str]) -> AfterValidator:
    def check(text: str) -> str:
        if not pattern.fullmatch(text):
            refuse(Refusal(IssueCode.BAD_NAME, f"must match {pattern.pattern}", text))
        return text

    return AfterValidator(check)


def _not_reserved(name: str) -> str:
    if name in RESERVED_TOOL_NAMES:
        refuse(Refusal(IssueCode.RESERVED_NAME, f"{name!r} is a tool of the runtime's own", name))
    return name


def _pattern(pattern: re.Pattern[str]) -> WithJsonSchema:
    return WithJsonSchema({"type": "string", "pattern": f"^{pattern.pattern}$"})


Whole = Annotated[str, AfterValidator(_whole)]
# Prose is the author's, whatever their line endings are; a line is data and is kept byte for byte.
Prose = Annotated[str, BeforeValidator(_with_unix_lines), AfterValidator(_prose)]
Line = Annotated[str, AfterValidator(_line)]
Name = Annotated[str, _matches(_NAME), _pattern(_NAME)]
ToolName = Annotated[str, _matches(_TOOL_NAME), _pattern(_TOOL_NAME)]
# The name of an author's own tool.
GrantedName = Annotated[ToolName, AfterValidator(_not_reserved)]
# What a resolver knows a secret by; never the secret.
SecretName = Annotated[Line, Field(min_length=1, max_length=256)]


# --- tuples ----------------------------------------------------------------------------------------------


class HasName(Protocol):
    """What `Named` holds."""

    @property
    def name(self) -> str: ...


N = TypeVar("N", bound=HasName)


def _as_tuple(value: object) -> object:
    return tuple(cast("list[object]", value)) if isinstance(value, list) else value


def _by_name(entries: tuple[N, ...]) -> tuple[N, ...]:
    taken: set[str] = set()
    refusals: list[Refusal] = []
    for index, entry in enumerate(entries):
        if entry.name.lower() in taken:
            reason = f"{entry.name!r} stands twice; case makes no difference"
            refusals.append(Refusal(IssueCode.DUPLICATE_NAME, reason, entry.name, (index, "name")))
        taken.add(entry.name.lower())
    if refusals:
        refuse(*refusals)
    return tuple(sorted(entries, key=lambda entry: entry.name))


# A list from a document or from Python; a set has no order that a hash could hold.
FromList = BeforeValidator(_as_tuple)
# Entries whose order says nothing: names are unique whatever their case, and sort them.
Named = Annotated[tuple[N, ...], Field(max_length=MAX_ENTRIES), FromList, AfterValidator(_by_name)]


# --- schemas ---------------------------------------------------------------------------------------------


def _usable(schema: Mapping[str, Json]) -> Mapping[str, Json]:
    try:
        check_schema(schema)
    except BadSchema as bad:
        refuse(Refusal(IssueCode.BAD_SCHEMA, bad.reason, schema, bad.loc))
    return schema


JsonSchema = Annotated[JsonObject, AfterValidator(_usable)]
