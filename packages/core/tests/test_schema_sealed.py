"""A sealed schema gives the verdict and the errors of the schema it was made of."""

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from packages.core.tests.json_schemas import ASSERTIONS, INSTANCES, REFERENCES, Schema, schemas, some_of
from psych_runtime_core.schema import violations
from psych_runtime_core.schema.build import build
from psych_runtime_core.schema.sealed import sealed, unsealed
from psych_runtime_core.schema.wording import message

# In it a branch, and what is in the branch, are referred to.
SHARED: Schema = {
    "anyOf": [
        {"properties": {"a": {"type": "integer"}, "anyOf": {"oneOf": [{"maxItems": 1}, {"type": "null"}]}}},
        {"type": "string"},
    ]
}
POINTERS = [
    "#/$defs/shared",
    "#/$defs/shared/anyOf/0",
    "#/$defs/shared/anyOf/0/properties/a",
    "#/$defs/shared/anyOf/0/properties/anyOf",
    "#/$defs/shared/anyOf/0/properties/anyOf/oneOf/0",
]


Told = Counter[tuple[Any, ...]]


def told(schema: Schema, instance: Any) -> Told:
    return Counter((*error.instance_path, error.message) for error in build(schema).iter_errors(instance))


def told_sealed(schema: Schema, instance: Any) -> Told:
    errors = build(sealed(schema)).iter_errors(instance)
    return Counter((*error.instance_path, message(error)) for error in errors)


@given(
    schema=schemas(ASSERTIONS | REFERENCES | st.sampled_from([{"$ref": pointer} for pointer in POINTERS])),
    definition=schemas(ASSERTIONS),
    instances=st.lists(INSTANCES, min_size=1, max_size=8),
)
def test_the_errors_are_the_same(schema: Schema, definition: Schema, instances: list[Any]) -> None:
    whole = {**schema, "$defs": {"defined": definition, "shared": SHARED}}
    for instance in instances:
        assert told_sealed(whole, instance) == told(whole, instance)


@given(
    branches=st.lists(schemas(ASSERTIONS | REFERENCES), min_size=1, max_size=3),
    kind=st.sampled_from(["anyOf", "oneOf"]),
    instances=st.lists(INSTANCES, min_size=1, max_size=8),
)
def test_a_recursive_schema_has_the_verdict_of_the_plain_judge(
    branches: list[Schema], kind: str, instances: list[Any]
) -> None:
    recursive = {
        kind: [{"type": "number"}, *({"additionalProperties": each, "items": each} for each in branches)]
    }
    whole: Schema = {"$ref": "#/$defs/defined", "$defs": {"defined": recursive}}
    for instance in instances:
        plain = build(whole).is_valid(instance)
        assert build(sealed(whole)).is_valid(instance) == plain
        assert (violations(instance, whole) == ()) == plain


@pytest.mark.parametrize("pointer", POINTERS)
@pytest.mark.parametrize("value", [None, "x", {"a": "x"}, {"anyOf": [1, 2]}, [1, 2]])
def test_a_reference_into_a_branch_leads_to_the_same_schema(pointer: str, value: Any) -> None:
    whole = {"items": {"$ref": pointer}, "$defs": {"shared": SHARED}}
    assert told_sealed(whole, [value]) == told(whole, [value])


def test_data_and_names_are_left_as_they_are() -> None:
    schema: Schema = {
        "properties": {"anyOf": {"const": {"anyOf": [1]}}, "$ref": {"default": {"$ref": "#/anyOf/0/x"}}},
        "$defs": {"oneOf": {"enum": [{"oneOf": [1]}]}},
    }
    assert sealed(schema) == schema


def test_a_branch_keeps_what_it_evaluates() -> None:
    schema: Schema = {"anyOf": [{"properties": {"a": {}}}, False], "unevaluatedProperties": False}
    assert violations({"a": 1}, schema) == ()
    assert [each.message for each in violations({"a": 1, "b": 2}, schema)] == [
        "Unevaluated properties are not allowed ('b' was unexpected)"
    ]


COMMENTS = st.sampled_from(["", "c", "\ue000", "\ue000\ue000", "\ue000c"])
COMMENTED = some_of({"$comment": COMMENTS}, {"type": st.just("string"), "const": INSTANCES})


@given(schema=schemas(COMMENTED | REFERENCES), comment=COMMENTS)
def test_whatever_an_author_comments_is_shown_as_it_was_written(schema: Schema, comment: str) -> None:
    whole: Schema = {"not": {**schema, "$comment": comment}, "$defs": {"defined": {}}}
    assert unsealed(sealed(whole)) == whole


@pytest.mark.parametrize(
    "schema",
    [
        pytest.param({"$comment": "\ue000"}, id="a comment"),
        pytest.param({"$comment": "\ue000", "if": {"type": "string"}, "else": False}, id="all of a branch"),
        pytest.param({"const": {"$comment": "\ue000"}}, id="data"),
        pytest.param({"enum": [{"$comment": "\ue000", "$ref": "#/anyOf/0/if"}]}, id="data with a reference"),
        pytest.param({"properties": {"$comment": {"$comment": "\ue000"}}}, id="a property"),
        pytest.param({"anyOf": [{"$comment": "\ue000"}]}, id="in a branch"),
    ],
)
def test_a_comment_like_ours_is_an_author_s(schema: Schema) -> None:
    assert unsealed(sealed({"not": schema})) == {"not": schema}
    branched = {"not": {"anyOf": [schema, {"type": "string"}]}}
    assert unsealed(sealed(branched)) == branched
    [found] = violations("x", branched)
    assert found.message.startswith('{"anyOf":[')


def test_a_schema_that_must_not_fit_is_shown_as_it_was_written() -> None:
    schema = {"not": {"oneOf": [{"type": "string"}, {"anyOf": [{"if": {"minimum": 1}, "then": False}]}]}}
    assert unsealed(sealed(schema)) == schema
    referring = {"not": {"$ref": POINTERS[-1]}, "$defs": {"shared": SHARED}}
    assert unsealed(sealed(referring)) == referring
    [found] = violations("x", {"not": {"anyOf": [{"type": "string"}, {"type": "null"}]}})
    assert found.message == '{"anyOf":[{"type":"string"},{"type":"null"}]} is not allowed for "x"'
