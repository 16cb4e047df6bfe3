"""JSON Schema: which schemas an author may use, and what does not fit them."""

import socket
from pathlib import Path
from typing import Any

import pytest
from jsonschema_rs import Draft202012Validator

from psych_runtime_core.errors import BadSchema, pointer
from psych_runtime_core.schema import MAX_JUDGED_WHOLE, build, check_schema, violations

# --- which schemas an author may use -------------------------------------------------------------------


def nested(depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = {}
    for _ in range(depth - 1):
        schema = {"not": schema}
    return schema


@pytest.mark.parametrize(
    ("schema", "path", "reason"),
    [
        pytest.param({"type": "text"}, "/type", "text", id="a type that is none"),
        pytest.param({"type": "objct"}, "/type", '"objct" is no type: give one of array,', id="a slip"),
        pytest.param({"type": ["object", "x" * 999]}, "/type", "x… is no type", id="among several, and long"),
        pytest.param({"dependencies": {"type": 5}}, "/dependencies/type", "5 is not", id="a key"),
        pytest.param({"properties": {"a": {"minLength": -1}}}, "/properties/a/minLength", "-1", id="a bound"),
        pytest.param({"$defs": {"a": {"type": 3}}}, "/$defs/a/type", "3", id="a definition"),
        pytest.param({"$defs": 3}, "/$defs", "object", id="definitions that are none"),
        pytest.param({"allOf": 3, "$defs": {"a": {}}}, "/allOf", "array", id="an applicator"),
        pytest.param({"pattern": "("}, "/pattern", "look-around", id="a broken pattern"),
        pytest.param({"pattern": "(?=a)b"}, "/pattern", "look-around", id="look-ahead"),
        pytest.param({"pattern": "(?<!a)b"}, "/pattern", "look-around", id="look-behind"),
        pytest.param({"pattern": r"(a)\1"}, "/pattern", "back-references", id="a back-reference"),
        pytest.param({"pattern": "(a{1000}){1000}"}, "/pattern", "look-around", id="an exploding pattern"),
        pytest.param({"patternProperties": {"(?=a)": {}}}, "/patternProperties", "", id="a pattern as a key"),
        pytest.param({"$ref": "#/nope"}, "", "does not resolve", id="a reference to nothing"),
        pytest.param({"$defs": {"a": {"$ref": "#/nope"}}}, "", "does not resolve", id="one in a definition"),
        pytest.param({"$ref": "#anchor"}, "", "does not resolve", id="an anchor that is none"),
        pytest.param({"$ref": "other.json"}, "", "does not resolve", id="another document"),
        pytest.param(nested(65), "", "64 levels", id="65 levels"),
        pytest.param(
            {"properties": {"a": {"$id": "https://x.y/a", "$schema": "http://json-schema.org/draft-07/schema#",
                                  "pattern": "(?=a)"}}},
            "/properties/a/pattern",
            "look-around",
            id="an embedded resource of another draft",
        ),
    ],
)  # fmt: skip
def test_a_schema_that_cannot_be_used_is_refused_at_its_place(
    schema: dict[str, Any], path: str, reason: str
) -> None:
    with pytest.raises(BadSchema) as refused:
        check_schema(schema)
    assert pointer(refused.value.loc).startswith(path)
    assert reason in refused.value.reason


@pytest.mark.parametrize(
    "schema",
    [
        pytest.param({}, id="empty"),
        pytest.param(nested(64), id="64 levels"),
        pytest.param({"$schema": "http://json-schema.org/draft-04/schema#"}, id="another draft by name"),
        pytest.param({"$schema": "https://example.com/mine"}, id="an unknown draft by name"),
        pytest.param({"format": "nonsense", "x-unit": 3, "contentMediaType": "x"}, id="annotations"),
        pytest.param({"$defs": {"a/b~c %é": {"type": "string"}}}, id="a definition with a strange name"),
        pytest.param({"properties": {"next": {"$ref": "#"}}}, id="recursion"),
        pytest.param({"$ref": "#item", "$defs": {"i": {"$anchor": "item"}}}, id="an anchor"),
        pytest.param(
            {"$id": "https://x.y/a#", "$ref": "https://x.y/a#/$defs/i", "$defs": {"i": {}}}, id="its own name"
        ),
        pytest.param(
            {"$id": "https://x.y/a", "$ref": "b", "$defs": {"b": {"$id": "b", "type": "null"}}},
            id="an embedded resource",
        ),
    ],
)
def test_a_schema_inside_its_own_document_is_taken(schema: dict[str, Any]) -> None:
    check_schema(schema)


@pytest.mark.parametrize("schema", [{}, {"type": "string"}, {"type": ["object", "null"]}])
def test_a_root_of_an_object_is_demanded_where_one_is_needed(schema: dict[str, Any]) -> None:
    check_schema(schema)
    with pytest.raises(BadSchema, match='"type": "object"'):
        check_schema(schema, object_root=True)
    check_schema({"type": "object"}, object_root=True)


@pytest.mark.parametrize("keyword", ["$ref", "$dynamicRef"])
@pytest.mark.parametrize("scheme", ["http", "https", "ftp"])
def test_a_remote_reference_is_refused_and_opens_no_socket(
    keyword: str, scheme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0)
        remote = f"{scheme}://127.0.0.1:{server.getsockname()[1]}/schema.json"
        for schema in ({keyword: remote}, {"properties": {"a": {keyword: remote + "#/$defs/a"}}}):
            with pytest.raises(BadSchema):
                check_schema(schema)
            assert violations({"a": 1}, schema) == ()
        with pytest.raises(BlockingIOError):
            server.accept()


def test_a_file_is_not_read_by_reference(tmp_path: Path) -> None:
    (tmp_path / "schema.json").write_text('{"type": "string"}')
    with pytest.raises(BadSchema):
        check_schema({"$ref": (tmp_path / "schema.json").as_uri()})


# --- what does not fit -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "schema", "fits"),
    [
        pytest.param(3.0, {"type": "integer"}, True, id="3.0 is an integer"),
        pytest.param(True, {"type": "number"}, False, id="a bool is no number"),
        pytest.param(True, {"const": 1}, False, id="true is not 1"),
        pytest.param([1, True], {"uniqueItems": True}, True, id="1 and true are two"),
        pytest.param([1, 1.0], {"uniqueItems": True}, False, id="1 and 1.0 are one"),
        pytest.param("x", {"format": "email"}, True, id="format is an annotation"),
        pytest.param("abc", {"pattern": "b"}, True, id="a pattern searches"),
        pytest.param(2, {"$schema": "http://json-schema.org/draft-04/schema#", "exclusiveMinimum": 3}, False,
                     id="$schema changes nothing"),
        pytest.param({"$schema": 1}, {"properties": {"$schema": {"type": "string"}}}, False,
                     id="a property may be called $schema"),
        pytest.param({"$schema": 2}, {"const": {"$schema": 1}}, False, id="$schema in data is data"),
        pytest.param("\ud800", {"const": "\ufffd"}, True, id="a lone surrogate counts as U+FFFD"),
        pytest.param({"\udc00": 1}, {"required": ["\ufffd"]}, True, id="in a key too"),
        pytest.param("\ud83d\ude00", {"maxLength": 1}, True, id="a surrogate pair is one character"),
        pytest.param(2**80, {"type": "integer", "minimum": 2**79}, True, id="an int of 81 bits"),
        pytest.param(1, {"type": "nonsense"}, True, id="a schema that cannot be built refuses nothing"),
    ],
)  # fmt: skip
def test_a_value_fits_or_not(value: Any, schema: dict[str, Any], fits: bool) -> None:
    assert (violations(value, schema) == ()) is fits


def test_a_violation_points_at_the_place_and_says_what_is_wrong() -> None:
    schema: dict[str, Any] = {"properties": {"a/b": {"items": {"type": "integer"}}}, "required": ["c"]}
    found = violations({"a/b": [1, "two"]}, schema)
    assert {(each.path, each.message) for each in found} == {
        ("/a~1b/1", '"two" is not of type "integer"'),
        ("", '"c" is a required property'),
    }


def test_violations_are_limited() -> None:
    schema = {"items": {"type": "integer"}}
    assert len(violations(["x"] * 100, schema)) == 20
    assert len(violations(["x"] * 100, schema, limit=3)) == 3


def test_of_a_large_value_one_violation_is_told() -> None:
    schema = {"items": {"type": "integer"}}
    assert len(violations(["x"] * (MAX_JUDGED_WHOLE - 1), schema)) == 20
    assert [each.path for each in violations(["x"] * MAX_JUDGED_WHOLE, schema)] == ["/0"]


def test_a_long_value_is_cut_in_a_message() -> None:
    [found] = violations("x" * 10_000, {"maxLength": 3})
    assert found.message.startswith('"xxx')
    assert found.message.endswith("is longer than 3 characters")
    assert len(found.message) < 250


def test_long_names_are_cut_in_a_message() -> None:
    [found] = violations({"x" * 10_000: 1, "y": 2}, {"properties": {"y": {}}, "additionalProperties": False})
    assert len(found.message) == 1_000


def test_a_string_on_which_backtracking_never_ends_is_judged() -> None:
    hostile = {"pattern": "^(a+)+$"}
    assert violations("a" * 50_000, hostile) == ()
    assert violations("a" * 50_000 + "!", hostile)


def test_a_schema_is_built_once_however_its_keys_are_ordered(monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[object] = []

    def counted(schema: Any, **options: Any) -> Draft202012Validator:
        built.append(schema)
        return Draft202012Validator(schema, **options)

    monkeypatch.setattr(build, "Draft202012Validator", counted)
    for schema in ({"minLength": 7, "maxLength": 70}, {"maxLength": 70, "minLength": 7}):
        assert violations("x", schema)
    assert len(built) == 1
