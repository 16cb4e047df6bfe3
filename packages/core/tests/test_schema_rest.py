"""A schema that cannot be judged whole: what is left of it is judged, and refuses nothing that fits."""

from typing import Any

import pytest
from hypothesis import given
from jsonschema_rs import Draft202012Validator

from packages.core.tests.json_schemas import ASSERTIONS, INSTANCES, Schema, schemas
from psych_runtime_core.errors import BadSchema
from psych_runtime_core.schema import check_schema, violations
from psych_runtime_core.schema.rest import outline, without_patterns

LOOK = "(?=a)b"
WAYS: Schema = {"anyOf": [{"$ref": "#/$defs/d1"}, {"$ref": "#/$defs/d1"}], "$defs": {
    f"d{index}": {"anyOf": [{"$ref": f"#/$defs/d{index + 1}"}] * 2} for index in range(40)
} | {"d40": {}}}  # fmt: skip


@pytest.mark.parametrize(
    ("schema", "wrong", "right"),
    [
        pytest.param({"type": "string", "pattern": LOOK}, 5, "x", id="a type"),
        pytest.param({"type": "string", "pattern": "[01]{2000000}"}, 5, "x", id="beside a large one"),
        pytest.param({"properties": {"a": {"pattern": LOOK}}, "required": ["a"]}, {}, {"a": "x"},
                     id="required"),
        pytest.param({"items": {"$ref": "#/$defs/a"}, "$defs": {"a": {"pattern": LOOK, "maxLength": 3}}},
                     ["long"], ["x"], id="by reference"),
        pytest.param({"allOf": [{"pattern": LOOK}, {"pattern": "^x"}]}, "y", "x", id="another pattern"),
        pytest.param({"type": "object", "patternProperties": {LOOK: {}, "^x": {"type": "null"}},
                      "additionalProperties": False}, {"x": 1}, {"ab": 1}, id="of names"),
        pytest.param({"type": "string", "pattern": [LOOK], "not": {"pattern": LOOK}}, 5, "x", id="none"),
        pytest.param({"type": "string", "not": {"pattern": LOOK}}, 5, "x", id="not"),
        pytest.param({"type": "string", "oneOf": [{"pattern": LOOK}, {"minLength": 1}]}, 5, "x", id="one of"),
        pytest.param({"if": {"pattern": LOOK}, "then": False, "type": "string"}, 5, "x", id="if"),
        pytest.param({"type": "array", "contains": {"pattern": LOOK}, "maxContains": 0}, 5, ["x"],
                     id="contains"),
        pytest.param({"type": "object", "required": ["a"], **WAYS}, {}, {"a": 1}, id="too many ways"),
        pytest.param({"properties": {"a": {"type": ["integer", "null"]}, "b": {"$ref": "other.json"}}},
                     {"a": "x"}, {"a": None, "b": 1}, id="a reference to nothing"),
        pytest.param({"type": "array", "items": {"type": "string"}, "minItems": "2"}, [1], ["x"],
                     id="no draft"),
        pytest.param({"type": "object", "properties": {"a": {"required": True, "type": "any"}},
                      "required": ["a", "a"], "minItems": "2"}, {}, {"a": 1}, id="an older draft"),
    ],
)  # fmt: skip
def test_the_rest_of_a_schema_is_judged(schema: Schema, wrong: Any, right: Any) -> None:
    with pytest.raises(BadSchema):
        check_schema(schema)
    assert violations(wrong, schema)
    assert violations(right, schema) == ()


@given(schemas(ASSERTIONS), INSTANCES)
def test_what_is_left_refuses_nothing_that_fits_the_whole(schema: Schema, value: Any) -> None:
    if Draft202012Validator(schema).is_valid(value):
        for left in (without_patterns(schema, {"a", "^n[0-9]"}), outline(schema)):
            assert Draft202012Validator(left).is_valid(value)
