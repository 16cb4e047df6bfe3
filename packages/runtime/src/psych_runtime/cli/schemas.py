"""The JSON Schemas of what the command prints with `--json`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, cast

from pydantic import Field, TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue, JsonSchemaWarningKind
from pydantic_core.core_schema import BytesSchema

from psych_runtime.cli import documents
from psych_runtime.cli.headers import RunListed
from psych_runtime_core.ports.reports import StoreStats
from psych_runtime_core.records.record import Record
from psych_runtime_core.views.answer import AnswerView
from psych_runtime_core.views.report_model import RunReport
from psych_runtime_core.views.status import RunStatus
from psych_runtime_core.views.thread import ThreadView

Mode = Literal["validation", "serialization"]


@dataclass(frozen=True, slots=True)
class Runs:
    """`psych.runs/1`. `next`: the cursor of the next page, null at the end."""

    runs: tuple[RunListed, ...]
    next: str | None


@dataclass(frozen=True, slots=True)
class RunShown:
    """`psych.run/1`. `records`, each that of a `psych.record/1`, and `children` are null unless asked for."""

    status: RunStatus
    answer: AnswerView
    thread: ThreadView
    report: RunReport
    records: tuple[Mapping[str, Any], ...] | None
    children: tuple[RunListed, ...] | None


@dataclass(frozen=True, slots=True)
class RecordShown:
    """`psych.record/1`."""

    record: Record


@dataclass(frozen=True, slots=True)
class Migrated:
    """`psych.migrate/1`."""

    from_: Annotated[int, Field(serialization_alias="from")]
    to: int
    applied: tuple[str, ...]
    pending: tuple[str, ...]


DOCUMENTS: Mapping[str, Any] = {
    "psych.doctor/1": documents.Diagnosis,
    "psych.error/1": documents.Refusal,
    "psych.export/1": documents.Exported,
    "psych.import/1": documents.Imported,
    "psych.migrate/1": Migrated,
    "psych.new/1": documents.Project,
    "psych.record/1": RecordShown,
    "psych.run/1": RunShown,
    "psych.runs/1": Runs,
    "psych.skills/1": documents.Skills,
    "psych.stats/1": StoreStats,
    "psych.verify/1": documents.Verified,
}


def document_schema(name: str) -> dict[str, Any]:
    """The JSON Schema of the documents whose key `schema` is `name`. Raises `KeyError` for none of ours."""
    # A record leaves out what is as it mostly is; every other document says all.
    mode: Mode = "validation" if name == "psych.record/1" else "serialization"
    schema = TypeAdapter(DOCUMENTS[name]).json_schema(mode=mode, schema_generator=_Generator)
    schema["properties"] = {"schema": {"const": name}, **schema["properties"]}
    schema["required"] = ["schema", *schema["required"]]
    return _as_printed({"$schema": _Generator.schema_dialect, **schema, "title": name})


def _as_printed(schema: JsonSchemaValue) -> JsonSchemaValue:
    """`schema` without the bounds of bytes: those of their base64 are others."""
    bounds = {"minLength", "maxLength"} if "contentEncoding" in schema else set[str]()
    return {name: _part(part) for name, part in schema.items() if name not in bounds}


def _part(part: Any) -> Any:
    if isinstance(part, dict):
        return _as_printed(cast("JsonSchemaValue", part))
    return list(map(_part, cast("Iterable[Any]", part))) if isinstance(part, list) else part


class _Generator(GenerateJsonSchema):
    """Bytes are base64, and a default that has no JSON is left out."""

    def bytes_schema(self, schema: BytesSchema) -> JsonSchemaValue:
        del schema
        return {"type": "string", "contentEncoding": "base64"}

    def emit_warning(self, kind: JsonSchemaWarningKind, detail: str) -> None:
        if kind != "non-serializable-default":
            super().emit_warning(kind, detail)
