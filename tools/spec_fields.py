"""The fields of a Spec's models, as the cells of a table: each with its type, its default and its bounds."""

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic.fields import FieldInfo

from psych_runtime import AgentSpec, CodeTool, Limits, ModelRef, SpecModel, SuspensionPolicy
from psych_runtime_core.spec.http_tool import HttpTool

MODELS: tuple[type[SpecModel], ...] = (AgentSpec, CodeTool, HttpTool, ModelRef, Limits, SuspensionPolicy)
TYPES = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "object": "mapping",
    "null": "None",
}
EDGES = {"minimum": "from", "exclusiveMinimum": "over", "maximum": "to", "exclusiveMaximum": "below"}
Schema = Mapping[str, Any]


def fields() -> Iterator[list[str]]:
    """A line for each field: its name, its type, its default, its bounds."""
    for model in MODELS:
        described: dict[str, Schema] = model.model_json_schema()["properties"]
        for name, field in model.model_fields.items():
            schema = described[name]
            yield [f"`{model.__name__}.{name}`", type_of(schema), default_of(field), bounds_of(schema)]


def type_of(schema: Schema) -> str:
    """What a value is; of a closed choice, its words."""
    if "anyOf" in schema:
        return " or ".join(map(type_of, schema["anyOf"]))
    if "$ref" in schema:
        return f"`{schema['$ref'].rpartition('/')[2]}`"
    words = [schema["const"]] if "const" in schema else schema.get("enum", ())
    if words:
        return ", ".join(f'`"{word}"`' for word in words)
    if schema["type"] == "array":
        return f"tuple of {type_of(schema['items'])}"
    return f"`{TYPES[schema['type']]}`"


def default_of(field: FieldInfo) -> str:
    """What an absent field is."""
    if field.is_required():
        return "must be given"
    value = field.get_default(call_default_factory=True)
    return f"`{type(value).__name__}()`" if isinstance(value, SpecModel) else f"`{value!r}`"


def bounds_of(schema: Schema) -> str:
    """What holds a value within its type; nothing for what is free."""
    each = bounds_of(schema["items"]) if "items" in schema else ""
    found = [*_bounds(schema), *map(bounds_of, schema.get("anyOf", ())), each and f"each {each}"]
    return "; ".join(filter(None, found))


def _bounds(schema: Schema) -> Iterator[str]:
    yield " ".join(f"{word} {schema[key]:,}" for key, word in EDGES.items() if key in schema)
    if "maxLength" in schema:
        yield f"{schema.get('minLength', 0):,} to {schema['maxLength']:,} characters"
    if "maxItems" in schema:
        yield f"at most {schema['maxItems']:,}"
    if "maxProperties" in schema:
        yield f"at most {schema['maxProperties']:,}"
    if "pattern" in schema:
        yield f"`{schema['pattern']}`"
