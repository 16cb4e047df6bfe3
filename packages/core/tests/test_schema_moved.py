"""A schema that stands elsewhere judges as it did."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from packages.core.tests.json_schemas import ASSERTIONS, INSTANCES, REFERENCES, Schema, schemas
from psych_runtime_core.schema import check_schema, moved, violations

AT = "/properties/value"


def placed(schema: Schema) -> Schema:
    return {"properties": {"value": moved(schema, AT)}}


@pytest.mark.parametrize(
    ("schema", "there"),
    [
        pytest.param({"items": {"$ref": "#"}}, {"items": {"$ref": "#/properties/value"}}, id="to the root"),
        pytest.param({"items": {"$ref": ""}}, {"items": {"$ref": "#/properties/value"}}, id="by no name"),
        pytest.param(
            {"$ref": "#/$defs/a", "$defs": {"a": {}}},
            {"$ref": "#/properties/value/$defs/a", "$defs": {"a": {}}},
            id="to a definition",
        ),
        pytest.param({"$dynamicRef": "#/$defs/a", "$defs": {"a": {}}},
                     {"$dynamicRef": "#/properties/value/$defs/a", "$defs": {"a": {}}}, id="a dynamic one"),
        pytest.param({"$ref": "#a", "$defs": {"a": {"$anchor": "a"}}},
                     {"$ref": "#a", "$defs": {"a": {"$anchor": "a"}}}, id="to an anchor"),
        pytest.param({"enum": [{"$ref": "#/a"}]}, {"enum": [{"$ref": "#/a"}]}, id="data in an enum"),
        pytest.param({"const": {"$ref": "#"}}, {"const": {"$ref": "#"}}, id="data in a const"),
        pytest.param({"default": {"$ref": "#"}}, {"default": {"$ref": "#"}}, id="data by default"),
        pytest.param(
            {"properties": {"$ref": {"const": {"$ref": "#"}}, "enum": {"$ref": "#"}}},
            {"properties": {"$ref": {"const": {"$ref": "#"}}, "enum": {"$ref": "#/properties/value"}}},
            id="names that look like keywords",
        ),
        pytest.param({"$id": "https://x.y/a", "$schema": "s", "items": {"$ref": "#"}},
                     {"items": {"$ref": "#/properties/value"}}, id="its name goes where nobody needs it"),
        pytest.param({"$id": "https://x.y/a", "items": {"$ref": "https://x.y/a#/$defs/b"}},
                     {"$id": "https://x.y/a", "items": {"$ref": "https://x.y/a#/$defs/b"}},
                     id="and stays where it is referred to"),
        pytest.param({"items": {"$id": "https://x.y/b", "$ref": "#/a"}},
                     {"items": {"$id": "https://x.y/b", "$ref": "#/a"}}, id="what has a name is a root"),
    ],
)  # fmt: skip
def test_its_references_lead_to_what_they_led_to(schema: Schema, there: Schema) -> None:
    assert moved(schema, AT) == there


NAMED: Schema = {
    "$id": "https://x.y/tree",
    "anyOf": [{"type": "integer"}, {"type": "array", "items": {"$ref": "https://x.y/tree"}}],
}
RESOURCES: Schema = {
    "items": {"$ref": "https://x.y/b"},
    "$defs": {"b": {"$id": "https://x.y/b", "$ref": "#/$defs/c", "$defs": {"c": {"type": "integer"}}}},
}


@pytest.mark.parametrize(
    "schema",
    [
        pytest.param(NAMED, id="a name that is referred to"),
        pytest.param({**NAMED, "anyOf": [NAMED["anyOf"][0], {"type": "array", "items": {"$ref": "#"}}]},
                     id="a name that is not"),
        pytest.param(RESOURCES, id="resources in it"),
        pytest.param({"$id": "https://x.y/a", "items": {"$ref": "b"},
                      "$defs": {"b": {"$id": "b", "type": "integer"}}}, id="resources named after it"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("value", [1, [1], ["x"], [[1]], [["x"]], "x"], ids=repr)
def test_a_document_with_names_judges_as_it_did(schema: Schema, value: Any) -> None:
    check_schema(schema)
    check_schema(placed(schema))
    assert bool(violations({"value": value}, placed(schema))) == bool(violations(value, schema))


@given(
    schema=schemas(ASSERTIONS | REFERENCES),
    definition=schemas(ASSERTIONS),
    instances=st.lists(INSTANCES, min_size=1, max_size=8),
)
def test_any_schema_judges_as_it_did(schema: Schema, definition: Schema, instances: list[Any]) -> None:
    whole = {**schema, "$defs": {"defined": definition}}
    for instance in instances:
        assert bool(violations({"value": instance}, placed(whole))) == bool(violations(instance, whole))
