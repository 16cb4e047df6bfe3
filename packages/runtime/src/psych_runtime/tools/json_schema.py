"""The JSON Schema of a tool's arguments, as models are sent it: a closed object, in order, without titles."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

from pydantic import BaseModel
from pydantic.errors import PydanticInvalidForJsonSchema
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue, JsonSchemaWarningKind
from pydantic_core import CoreSchema, core_schema

from psych_runtime_core.errors import BadSchema, NotJson, ToolSchemaError
from psych_runtime_core.jsonvalue import FrozenDict, freeze
from psych_runtime_core.schema import check_schema

Schema = dict[str, Any]


def schema_of(model: type[BaseModel]) -> Schema:
    """The Draft 2020-12 schema of `model`. Raises `PydanticInvalidForJsonSchema` for what it cannot say."""
    schema = model.model_json_schema(schema_generator=_ToolJsonSchema)
    reference = schema.pop("$ref", None)
    if reference is not None:
        # A model that holds itself stands among the definitions; a tool's schema is an object at its root.
        schema = {**schema["$defs"][reference.removeprefix("#/$defs/")], **schema}
    # The root's description is the model class's; what the tool is for stands beside the schema.
    schema.pop("description", None)
    for _, each in subschemas(schema):
        each.pop("title", None)
    return schema


def usable(schema: Mapping[str, Any], tool: str) -> FrozenDict:
    """`schema`, frozen. Raises `ToolSchemaError` for one that no arguments can be judged by."""
    try:
        frozen = cast("FrozenDict", freeze(schema))
        check_schema(frozen, object_root=True)
    except (BadSchema, NotJson) as error:
        raise ToolSchemaError(tool, None, f"its JSON Schema cannot be used: {error}") from None
    return frozen


def open_part(schema: Schema) -> str | None:
    """What `schema` leaves open, so that no provider can enforce it, and where; None for nothing."""
    for place, each in subschemas(schema):
        properties: Mapping[str, Any] = each.get("properties", {})
        optional = [name for name in properties if name not in each.get("required", ())]
        if optional:
            return f"{optional[0]!r} is optional{place}: take its default away, and write `| None` in place"
        if each.get("type") == "object" and each.get("additionalProperties") is not False:
            return f"an object{place} is open: write a model with `extra='forbid'` in place of a dict"
        if not _TYPED & set(each):
            return f"any value fits{place}: write a type"
    return None


_TYPED = frozenset({"type", "$ref", "anyOf", "oneOf", "allOf", "enum", "const"})
_ONE = ("additionalProperties", "items", "contains", "not", "propertyNames", "if", "then", "else")
_LISTED = ("anyOf", "oneOf", "allOf", "prefixItems")
_NAMED = ("properties", "$defs", "patternProperties", "dependentSchemas")


def subschemas(schema: Schema, place: str = "") -> Iterator[tuple[str, Schema]]:
    """`schema` and every schema in it, each with its place in words; data such as defaults is none."""
    yield place, schema
    inner: list[tuple[str, Any]] = [("", schema.get(key)) for key in _ONE]
    for key in _LISTED:
        inner += [("", each) for each in schema.get(key, ())]
    for key in _NAMED:
        inner += [(f" in {name!r}", each) for name, each in schema.get(key, {}).items()]
    for words, each in inner:
        if isinstance(each, dict):
            yield from subschemas(cast("Schema", each), place + words)


class _ToolJsonSchema(GenerateJsonSchema):
    # A default that JSON has no form for is left out; the function gets it all the same.
    ignored_warning_kinds: set[JsonSchemaWarningKind] = {"non-serializable-default"}  # noqa: RUF012 - pydantic's own

    def emit_warning(self, kind: JsonSchemaWarningKind, detail: str) -> None:
        """A union may not lose a member that has no JSON form."""
        if kind == "skipped-choice":
            raise PydanticInvalidForJsonSchema(detail)
        super().emit_warning(kind, detail)

    def generator_schema(self, schema: core_schema.GeneratorSchema) -> JsonSchemaValue:
        return self._no_form(schema, "an Iterable; write list")

    def complex_schema(self, schema: core_schema.ComplexSchema) -> JsonSchemaValue:
        return self._no_form(schema, "a complex number; write two floats")

    def is_subclass_schema(self, schema: core_schema.IsSubclassSchema) -> JsonSchemaValue:
        return self._no_form(schema, "a class; write its name")

    def _no_form(self, schema: CoreSchema, what: str) -> JsonSchemaValue:
        return self.handle_invalid_for_json_schema(schema, what)
