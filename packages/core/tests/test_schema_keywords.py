"""Each keyword of JSON Schema, draft 2020-12: what fits it, and what does not."""

from typing import Any

import pytest

from psych_runtime_core.schema import check_schema, violations

Schema = dict[str, Any]
Row = tuple[str, Schema, list[Any], list[Any]]
"""The keyword, a schema that has it, instances that fit, instances that do not."""

TREE: Schema = {
    "$id": "https://example.com/tree",
    "$dynamicAnchor": "node",
    "properties": {"children": {"items": {"$dynamicRef": "#node"}}},
}
STRICT_TREE: Schema = {
    "$id": "https://example.com/strict",
    "$dynamicAnchor": "node",
    "$ref": "tree",
    "unevaluatedProperties": False,
    "$defs": {"tree": TREE},
}

TYPES: list[Row] = [
    ("type: null", {"type": "null"}, [None], [0, False, ""]),
    ("type: boolean", {"type": "boolean"}, [True, False], [0, 1, "true", None]),
    ("type: integer", {"type": "integer"}, [0, -1, 2.0, 2**70], [0.5, True, "1"]),
    ("type: number", {"type": "number"}, [0, 0.5, -1e300], [True, "1", None]),
    ("type: string", {"type": "string"}, ["", "é"], [1, None, ["a"]]),
    ("type: array", {"type": "array"}, [[], [1]], [{}, "ab"]),
    ("type: object", {"type": "object"}, [{}, {"a": 1}], [[], None]),
    ("type: one of several", {"type": ["string", "null"]}, ["a", None], [0, {}]),
    ("enum", {"enum": [1, "a", None, {"b": [2]}]}, [1, 1.0, "a", None, {"b": [2.0]}], [True, "b", {}]),
    ("const", {"const": {"a": [0, False]}}, [{"a": [0.0, False]}], [{"a": [False, 0]}, {"a": [0]}, {}]),
]
NUMBERS: list[Row] = [
    ("minimum", {"minimum": 2}, [2, 2.5, "1"], [1.9, -3]),
    ("maximum", {"maximum": 2}, [2, -7, "3"], [2.1, 3]),
    ("exclusiveMinimum", {"exclusiveMinimum": 2}, [2.1, 3, None], [2, 2.0, 1]),
    ("exclusiveMaximum", {"exclusiveMaximum": 2}, [1.9, -2, None], [2, 2.0, 3]),
    ("multipleOf an int", {"multipleOf": 3}, [0, -9, 6.0, "4"], [1, 7, 1.5]),
    ("multipleOf a fraction", {"multipleOf": 0.25}, [0.5, 3, -1.75], [0.3, 0.125]),
]
STRINGS: list[Row] = [
    ("minLength", {"minLength": 2}, ["ab", "👍👍", 1], ["", "a", "👍"]),
    ("maxLength", {"maxLength": 2}, ["", "ab", "👍👍", [1, 2, 3]], ["abc", "👍👍👍"]),
    ("pattern", {"pattern": "^a+$"}, ["a", "aaa", 5], ["", "b", "ab", "a\nb"]),
    ("pattern, anywhere", {"pattern": "[0-9]{2}"}, ["x12y"], ["1x2"]),
]
ARRAYS: list[Row] = [
    (
        "prefixItems",
        {"prefixItems": [{"type": "integer"}, {"type": "string"}]},
        [[], [1], [1, "a", None], {"0": "a"}],
        [["a"], [1, 2]],
    ),
    ("items", {"items": {"type": "integer"}}, [[], [1, 2], "ab"], [["a"], [1, None]]),
    (
        "items behind prefixItems",
        {"prefixItems": [{"type": "string"}], "items": {"type": "integer"}},
        [["a"], ["a", 1, 2]],
        [["a", "b"], [1]],
    ),
    ("items: false", {"prefixItems": [{}], "items": False}, [[], [1]], [[1, 2]]),
    ("contains", {"contains": {"const": 7}}, [[7], [1, 7], {}], [[], [1, 8]]),
    ("minContains", {"contains": {"const": 7}, "minContains": 2}, [[7, 7], [7, 1, 7]], [[7], []]),
    ("minContains: 0", {"contains": {"const": 7}, "minContains": 0}, [[], [1]], []),
    ("maxContains", {"contains": {"const": 7}, "maxContains": 1}, [[7], [7, 8]], [[7, 7], []]),
    ("minContains alone", {"minContains": 2}, [[], [1]], []),
    ("minItems", {"minItems": 1}, [[1], [1, 2], ""], [[]]),
    ("maxItems", {"maxItems": 1}, [[], [1], {"a": 1, "b": 2}], [[1, 2]]),
    (
        "uniqueItems",
        {"uniqueItems": True},
        [[], [1, True, "1"], [[1], [2]]],
        [[1, 1.0], [{"a": 1}, {"a": 1}]],
    ),
    ("uniqueItems: false", {"uniqueItems": False}, [[1, 1]], []),
]
OBJECTS: list[Row] = [
    ("properties", {"properties": {"a": {"type": "integer"}}}, [{}, {"a": 1}, {"b": "x"}, []], [{"a": "x"}]),
    (
        "patternProperties",
        {"patternProperties": {"^n": {"type": "integer"}, "z$": {"minimum": 5}}},
        [{}, {"n": 1}, {"a": "x"}, {"nz": 5}],
        [{"n": "x"}, {"nz": 4}],
    ),
    (
        "additionalProperties",
        {"properties": {"a": {}}, "patternProperties": {"^n": {}}, "additionalProperties": {"type": "null"}},
        [{"a": 1, "n1": 2}, {"other": None}],
        [{"other": 1}],
    ),
    (
        "additionalProperties: false",
        {"properties": {"a": {}}, "additionalProperties": False},
        [{"a": 1}],
        [{"b": 1}],
    ),
    ("propertyNames", {"propertyNames": {"maxLength": 2}}, [{}, {"ab": 1}, "abc"], [{"abc": 1}]),
    ("required", {"required": ["a", "b"]}, [{"a": None, "b": 0}, 1], [{}, {"a": 1}]),
    ("minProperties", {"minProperties": 1}, [{"a": 1}, []], [{}]),
    ("maxProperties", {"maxProperties": 1}, [{}, {"a": 1}, [1, 2]], [{"a": 1, "b": 2}]),
    (
        "dependentRequired",
        {"dependentRequired": {"card": ["address"]}},
        [{}, {"address": 1}, {"card": 1, "address": 2}],
        [{"card": 1}],
    ),
    (
        "dependentSchemas",
        {"dependentSchemas": {"card": {"properties": {"address": {"type": "string"}}}}},
        [{"address": 1}, {"card": 1}, {"card": 1, "address": "x"}],
        [{"card": 1, "address": 2}],
    ),
]
APPLICATORS: list[Row] = [
    ("allOf", {"allOf": [{"minimum": 1}, {"maximum": 3}]}, [1, 3, "a"], [0, 4]),
    ("anyOf", {"anyOf": [{"type": "string"}, {"minimum": 3}]}, ["a", 3, None], [2]),
    ("oneOf", {"oneOf": [{"type": "integer"}, {"minimum": 3}]}, [1, 3.5], [3, 2.5]),
    ("not", {"not": {"type": "integer"}}, ["a", 1.5], [1]),
    (
        "if, then, else",
        {"if": {"type": "integer"}, "then": {"minimum": 3}, "else": {"type": "string"}},
        [3, "a"],
        [2, None],
    ),
    ("if without then and else", {"if": {"const": 0}}, [0, 1], []),
    ("then and else without if", {"then": False, "else": False}, [0, 1], []),
    ("true and false", {"properties": {"a": True, "b": False}}, [{"a": 1}], [{"b": 1}]),
    ("format, an annotation", {"format": "date-time"}, ["yesterday", 3], []),
    ("content, an annotation", {"contentMediaType": "application/json"}, ["{"], []),
    (
        "words that say nothing",
        {
            "title": "t",
            "description": "d",
            "default": 1,
            "examples": [2],
            "deprecated": True,
            "readOnly": True,
        },
        [1, None],
        [],
    ),
]
REFERENCES: list[Row] = [
    (
        "$ref to $defs",
        {"$ref": "#/$defs/positive", "$defs": {"positive": {"exclusiveMinimum": 0}}},
        [1, "a"],
        [0],
    ),
    (
        "$ref beside a keyword",
        {"$ref": "#/$defs/a", "maximum": 3, "$defs": {"a": {"minimum": 1}}},
        [1, 3],
        [0, 4],
    ),
    (
        "$ref to the root",
        {"properties": {"next": {"$ref": "#"}}, "additionalProperties": False},
        [{}, {"next": {"next": {}}}],
        [{"next": {"last": 1}}],
    ),
    (
        "$ref with an escaped name",
        {"$ref": "#/$defs/a~1b~0c%25", "$defs": {"a/b~c%": {"type": "integer"}}},
        [1],
        ["a"],
    ),
    ("$anchor", {"$ref": "#here", "$defs": {"a": {"$anchor": "here", "type": "integer"}}}, [1], ["a"]),
    (
        "$id",
        {"$id": "https://example.com/a", "$ref": "b", "$defs": {"b": {"$id": "b", "type": "null"}}},
        [None],
        [1],
    ),
    ("$dynamicRef alone", TREE, [{"children": [{"more": 1}]}], []),
    ("$dynamicRef extended", STRICT_TREE, [{"children": [{}]}], [{"more": 1}, {"children": [{"more": 1}]}]),
]
UNEVALUATED: list[Row] = [
    (
        "unevaluatedItems",
        {"allOf": [{"prefixItems": [{"type": "integer"}]}], "unevaluatedItems": {"type": "string"}},
        [[], [1], [1, "a", "b"]],
        [["a"], [1, 2]],
    ),
    (
        "unevaluatedItems and contains",
        {"contains": {"const": 7}, "unevaluatedItems": False},
        [[7], [7, 7]],
        [[7, 8]],
    ),
    (
        "unevaluatedProperties",
        {
            "anyOf": [{"properties": {"a": {"type": "integer"}}}, {"properties": {"b": {}}}],
            "unevaluatedProperties": False,
        },
        [{}, {"a": 1, "b": 2}, {"b": 2}],
        [{"a": "x"}, {"c": 1}],
    ),
    (
        "unevaluatedProperties and if",
        {
            "if": {"required": ["a"], "properties": {"a": {"const": 1}}},
            "else": {"properties": {"b": {}}},
            "unevaluatedProperties": False,
        },
        [{"a": 1}, {"b": 1}],
        [{"a": 1, "b": 1}, {"a": 2}],
    ),
    (
        "unevaluatedProperties and $ref",
        {"$ref": "#/$defs/a", "unevaluatedProperties": False, "$defs": {"a": {"properties": {"a": {}}}}},
        [{"a": 1}],
        [{"b": 1}],
    ),
    (
        "unevaluatedProperties and not",
        {"not": {"not": {"properties": {"a": {}}}}, "unevaluatedProperties": False},
        [{}],
        [{"a": 1}],
    ),
]
ROWS = [*TYPES, *NUMBERS, *STRINGS, *ARRAYS, *OBJECTS, *APPLICATORS, *REFERENCES, *UNEVALUATED]


@pytest.mark.parametrize(("schema", "fits", "does_not"), [pytest.param(*row[1:], id=row[0]) for row in ROWS])
def test_a_keyword_lets_pass_what_fits_and_nothing_else(
    schema: Schema, fits: list[Any], does_not: list[Any]
) -> None:
    check_schema(schema)
    assert [instance for instance in fits if violations(instance, schema)] == []
    assert [instance for instance in does_not if not violations(instance, schema)] == []
