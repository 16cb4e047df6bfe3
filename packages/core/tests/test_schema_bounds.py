"""Judging is bounded: what a schema costs, and what is said of schemas and values that cost too much."""

import json
from collections.abc import Callable
from operator import add
from typing import Any

import pytest

from psych_runtime_core.errors import BadSchema
from psych_runtime_core.schema import check_schema, violations
from psych_runtime_core.schema import load as load_module
from psych_runtime_core.schema.judge import MAX_ERRORS, MAX_VISITS
from psych_runtime_core.schema.load import Load
from psych_runtime_core.schema.patterns import measured
from psych_runtime_core.schema.reading import weighed
from psych_runtime_core.schema.visits import Spread

Schema = dict[str, Any]
ANY: Schema = {}


def load(schema: Schema) -> Load:
    return load_module.load_of(schema, weighed(measured(schema).sizes))


def ref(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name}"}


def among(kind: str, **definitions: Any) -> Schema:
    """A schema of what the first definition says."""
    return {**ref(kind), "$defs": definitions}


def operation(name: str, argument: Schema) -> Schema:
    return {
        "type": "object",
        "properties": {"args": {"type": "array", "items": argument}, "op": {"const": name}},
        "required": ["op", "args"],
        "additionalProperties": False,
    }


def optional(*names: str) -> Schema:
    return {"type": "object", "properties": {name: ref("e") for name in names}}


def nested(depth: int, wrap: Callable[[Any], Any], value: Any) -> Any:
    for _ in range(depth):
        value = wrap(value)
    return value


def chain(length: int, link: Schema) -> Schema:
    """Definitions each of which is `link` with the next for `NEXT`."""
    text = json.dumps(link)
    links = {f"d{index}": json.loads(text.replace("next", f"d{index + 1}")) for index in range(length)}
    return among("d0", **links, **{f"d{length}": {"type": "number"}})


def tower(levels: int, kinds: int) -> Schema:
    """Unions of tagged operations on unions, without recursion."""
    unions = {
        f"l{level}": {"anyOf": [operation(f"k{kind}", ref(f"l{level + 1}")) for kind in range(kinds)]}
        for level in range(levels)
    }
    return among("l0", **unions, **{f"l{levels}": {"type": "number"}})


def mutual(count: int) -> Schema:
    """Lists of each other kind: nothing tells apart of which."""
    kinds = [f"t{index}" for index in range(count)]
    others = {own: [{"items": ref(kind)} for kind in kinds if kind != own] for own in kinds}
    return among("t0", **{own: {"anyOf": branches, "type": "array"} for own, branches in others.items()})


DRAFT = "https://json-schema.org/draft/2020-12/schema"
NEXT = ref("next")
EXPRESSION = among(
    "e", e={"anyOf": [{"type": "number"}, operation("add", ref("e")), operation("mul", ref("e"))]}
)
OPTIONAL = among("e", e={"oneOf": [{"type": "number"}, optional("add"), optional("add", "mul")]})
JSON = among(
    "e", e={"type": ["object", "array", "string"], "items": ref("e"), "additionalProperties": ref("e")}
)
BASED = among(
    "node",
    base={"type": "object", "properties": {"parts": {"items": ref("node")}}},
    node={"allOf": [ref("base"), {"properties": {"next": ref("node")}}]},
)
TWICE = among("e", e={"allOf": [{"items": ref("e")}, {"items": ref("e")}], "type": ["array", "number"]})
TAGGED = among(
    "e", e={"anyOf": [{"type": "number"}, *(operation(f"k{kind}", ref("e")) for kind in range(30))]}
)


def added(value: Any) -> Any:
    return {"op": "add", "args": [value]}


def listed(value: Any) -> Any:
    return [value]


# --- a value of any depth --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("schema", "value", "places"),
    [
        pytest.param(EXPRESSION, nested(40, added, 1), [], id="an expression"),
        pytest.param(EXPRESSION, nested(40, added, "x"), [""], id="an expression with a wrong leaf"),
        pytest.param(OPTIONAL, nested(100, lambda value: {"mul": value}, 1), [], id="nothing tells apart"),
        pytest.param(OPTIONAL, nested(101, lambda value: {"add": value}, 1), [""], id="two that fit"),
        pytest.param(JSON, nested(120, listed, "x"), [], id="any JSON"),
        pytest.param(JSON, nested(120, listed, 1), ["/0" * 120], id="any JSON with a wrong leaf"),
        pytest.param(BASED, {"parts": [{"next": 3}]}, ["/parts/0/next"], id="a base that recurs, and a part"),
        pytest.param(TAGGED, nested(60, lambda value: {"op": "k29", "args": [value]}, 1), [], id="tags"),
        pytest.param(TAGGED, nested(60, added, 1), [""], id="a tag that is none"),
        pytest.param(tower(6, 30), nested(6, lambda value: {"op": "k7", "args": [value] * 3}, 1), [],
                     id="six unions of thirty in each other"),
        pytest.param(tower(6, 30), nested(6, lambda value: {"op": "k7", "args": [value] * 3}, "x"), [""],
                     id="with wrong leaves"),
        pytest.param(TWICE, nested(100, listed, 1), [], id="the same list twice"),
    ],
)  # fmt: skip
def test_a_value_of_any_depth_is_judged(schema: Schema, value: Any, places: list[str]) -> None:
    check_schema(schema)
    assert [each.path for each in violations(value, schema)] == places


def test_where_errors_would_double_at_each_level_no_place_is_told() -> None:
    check_schema(TWICE)
    [found] = violations(nested(100, listed, "x"), TWICE)
    assert found.path == ""
    assert "does not fit the schema; where is not said" in found.message


def test_the_errors_of_a_union_with_many_branches_are_collected_while_they_are_few() -> None:
    schema = {"items": {"anyOf": [{"const": f"c{index}"} for index in range(100)]}}
    told = load(schema).told
    assert told is not None
    fitting = MAX_ERRORS // told - 1
    assert len(violations(["x"] * fitting, schema)) == 20
    assert len(violations(["x"] * (fitting + 1), schema)) == 1


# --- what is refused ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "link",
    [
        pytest.param({"anyOf": [NEXT, NEXT]}, id="anyOf"),
        pytest.param({"oneOf": [NEXT, NEXT]}, id="oneOf"),
        pytest.param({"allOf": [NEXT, NEXT]}, id="allOf"),
        pytest.param({"if": NEXT, "then": NEXT}, id="if and then"),
        pytest.param({"not": NEXT, "allOf": [NEXT]}, id="not and allOf"),
        pytest.param({"dependentSchemas": {"a": NEXT, "b": NEXT}}, id="dependentSchemas"),
        pytest.param({"anyOf": [{"items": NEXT}, {"items": NEXT}]}, id="items"),
        pytest.param({"items": NEXT, "contains": NEXT}, id="contains"),
        pytest.param({"items": NEXT, "unevaluatedItems": NEXT}, id="unevaluatedItems"),
        pytest.param({"properties": {"a": NEXT}, "patternProperties": {"a": NEXT}}, id="both"),
        pytest.param({"propertyNames": NEXT, "not": NEXT}, id="names"),
        pytest.param({"prefixItems": [{"allOf": [NEXT, NEXT]}]}, id="prefixItems"),
        pytest.param({"$ref": NEXT["$ref"], "allOf": [NEXT]}, id="a reference beside allOf"),
        pytest.param({"anyOf": [NEXT], "unevaluatedProperties": False}, id="unevaluated"),
    ],
)  # fmt: skip
def test_ways_that_multiply_along_a_chain_are_refused(link: Schema) -> None:
    check_schema(chain(3, link))
    with pytest.raises(BadSchema, match="more than 10,000 ways"):
        check_schema(chain(40, link))
    assert violations("x", chain(40, link)) == ()


def test_kinds_that_nothing_tells_apart_are_refused_when_they_are_many() -> None:
    check_schema(mutual(10))
    with pytest.raises(BadSchema, match="a const in a required property"):
        check_schema(mutual(14))


@pytest.mark.parametrize(
    "schema",
    [
        pytest.param({"allOf": [{"$ref": "#"}]}, id="allOf"),
        pytest.param({"anyOf": [{"type": "null"}, {"not": {"$ref": "#"}}]}, id="a branch and not"),
        pytest.param(among("a", a=ref("b"), b=ref("a")), id="two of each other"),
        pytest.param({"items": among("a", a={"if": ref("a")}), "$defs": {"a": {"if": ref("a")}}}, id="below"),
        pytest.param(among("a", a={"$dynamicAnchor": "n", "allOf": [{"$dynamicRef": "#n"}]}), id="dynamic"),
    ],
)  # fmt: skip
def test_a_reference_that_comes_back_at_the_same_value_is_refused(schema: Schema) -> None:
    with pytest.raises(BadSchema, match="leads back to its own place"):
        check_schema(schema)


@pytest.mark.parametrize(
    "schema",
    [
        pytest.param({"$ref": "#/default", "default": {"type": "string"}}, id="into data"),
        pytest.param({"$ref": "https://x.y/a", "$defs": {"a": {"$id": "HTTPS://X.y/a"}}}, id="spelling"),
        pytest.param(
            {"$id": f"H{DRAFT[1:]}", "$ref": f"{DRAFT}#/$defs/a", "$defs": {"a": ANY}}, id="a draft's name"
        ),
    ],
)
def test_a_reference_that_cannot_be_followed_is_refused(schema: Schema) -> None:
    with pytest.raises(BadSchema, match="write it as #/"):
        check_schema(schema)


def test_a_draft_itself_is_referred_to() -> None:
    schema = {"$ref": DRAFT}
    check_schema(schema)
    assert violations(nested(60, lambda value: {"items": value}, {"type": "nonsense"}), schema)


def test_a_value_that_takes_too_long_is_refused_by_one_violation() -> None:
    schema = mutual(9)
    check_schema(schema)
    assert violations([["x"]] * 100, schema)[0].message.startswith("[[")
    [found] = violations([["x"]] * 10_000, schema)
    assert (found.path, found.message[:24]) == ("", "takes too long to judge:")


@pytest.mark.parametrize("tag", [1.5, 2**63])
def test_a_tag_that_cannot_be_looked_up_counts_as_every_branch(tag: float) -> None:
    value = nested(6, lambda value: {"op": tag, "args": [value]}, 1)
    [found] = violations(value, tower(6, 30))
    assert found.message.startswith("takes too long to judge")
    assert not violations(value, tower(6, 30)["$defs"]["l6"] | {"type": "object"})


def test_a_long_string_counts_by_its_length() -> None:
    schema = {"anyOf": [{"pattern": f"^{index}a*b$"} for index in range(100)]}
    [found] = violations("x" * (16 * MAX_VISITS // 100), schema)
    assert found.message.startswith("takes too long to judge")
    assert violations("x" * 1_000, schema)[0].message.startswith('"xxx')


# --- what it costs -----------------------------------------------------------------------------------------

ONE_OF_THREE: Schema = {
    "anyOf": [{"type": "null"}, {"type": "object", "items": ANY}, {"type": "array", "items": ANY}]
}
TAGS: list[Schema] = [
    {"properties": {"n": {"allOf": [ANY, ANY]}, "t": {"enum": [f"{index}", index]}}, "required": ["t"]}
    for index in range(3)
]


@pytest.mark.parametrize(
    ("schema", "most"),
    [
        pytest.param(ANY, 1, id="nothing"),
        pytest.param({"properties": {"a": ANY, "b": ANY}}, 1, id="members are different places"),
        pytest.param({"properties": {"a": ANY}, "additionalProperties": ANY}, 1, id="so are others"),
        pytest.param({"properties": {"a": ANY}, "patternProperties": {"b": ANY, "c": ANY}}, 3, id="pattern"),
        pytest.param({"prefixItems": [ANY, ANY], "items": ANY}, 1, id="items are different places"),
        pytest.param({"prefixItems": [ANY], "contains": ANY}, 2, id="contains asks each item"),
        pytest.param({"items": ANY, "additionalProperties": ANY}, 1, id="a value is a list or an object"),
        pytest.param({"allOf": [ANY, {"allOf": [ANY, ANY]}]}, 5, id="all of"),
        pytest.param({"allOf": [{"properties": {"a": ANY}}, {"additionalProperties": {"not": ANY}}]}, 3,
                     id="a member of two parts"),
        pytest.param({"if": ANY, "then": ANY, "else": ANY, "not": ANY}, 5, id="conditions"),
        pytest.param({"propertyNames": ANY}, 2, id="names"),
        pytest.param(ONE_OF_THREE, 4, id="branches of other types"),
        pytest.param(among("a", a={"anyOf": [ref("b"), ref("c")]}, b={"type": "null", "allOf": [ANY] * 5},
                           c={"type": "array", "allOf": [ANY] * 6}), 10, id="of other types by reference"),
        pytest.param({"$dynamicRef": "#n", "$defs": {"a": {"$dynamicAnchor": "n"},
                                                     "b": {"$id": "b", "$dynamicAnchor": "n"}}}, 3,
                     id="a dynamic reference leads to each anchor of its name"),
        pytest.param({"anyOf": TAGS}, 4, id="branches of other tags"),
        pytest.param({"anyOf": TAGS[:2]}, 6, id="two branches are both entered"),
        pytest.param({"anyOf": [*TAGS, {"properties": {"n": {"allOf": [ANY] * 4}}}]}, 8, id="any tag"),
        pytest.param({"anyOf": [{"properties": tag["properties"]} for tag in TAGS]}, 9, id="absent tags"),
        pytest.param({"anyOf": [{"allOf": [tag]} for tag in TAGS]}, 7, id="tags in a part"),
        pytest.param({"allOf": [{"not": ANY}], "unevaluatedProperties": False}, 6, id="unevaluated"),
        pytest.param({"$ref": "#/$defs/a", "$defs": {"a": {"items": {"$ref": "#"}}}}, 3, id="recursion"),
    ],
)  # fmt: skip
def test_the_place_visited_most_is_visited_so_often(schema: Schema, most: int) -> None:
    assert load(schema).most == most


@pytest.mark.parametrize(
    ("schema", "total", "untagged"),
    [
        pytest.param({"allOf": [ANY]}, 4, 4, id="the way in, and what a scalar costs by itself"),
        pytest.param(JSON, 6, 6, id="and from what a circle comes back to"),
        pytest.param(OPTIONAL, 23, 23, id="twice, if two references come to one place"),
        pytest.param(mutual(10), 393_035, 393_035, id="sixteen times, if more do"),
        pytest.param(TAGGED, 98, 1_953, id="a tag that cannot be looked up"),
    ],
)
def test_all_ways_to_one_place_are_counted(schema: Schema, total: int, untagged: int) -> None:
    assert (load(schema).usual["visits"], load(schema).blind["visits"]) == (total, untagged)


def test_the_tag_is_the_commonest_required_member_with_values() -> None:
    kinds = [{"properties": {"kind": {"const": kind}, "t": {"const": kind}, "a": ANY}} for kind in "abc"]
    required: list[Schema] = [{"required": ["t", "a"]}, {"required": ["t", "a"]}, {"required": ["a"]}]
    schema = {"anyOf": [{**kind, **more} for kind, more in zip(kinds, required, strict=True)]}
    assert load(schema).tags == {"t"}
    assert load({"anyOf": kinds}).tags == {"kind"}


def test_a_schema_may_be_as_wide_as_it_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load_module, "MAX_WAYS", 5)
    check_schema({"anyOf": [{"const": index} for index in range(20)]})
    with pytest.raises(BadSchema, match="more than 5 ways"):
        check_schema(chain(3, {"anyOf": [NEXT, NEXT]}))


def test_of_many_children_the_one_visited_most_stands_for_all() -> None:
    few = Spread({str(index): index for index in range(60)})
    many = few.combined(Spread({"a": 1, "b": 2, "c": 3, "d": 4, "e": 5}), add)
    assert few.combined(Spread({"0": 1}), add).named["0"] == 1
    assert (many.named, many.other) == ({}, 59)


@pytest.mark.parametrize(
    ("schema", "told"),
    [
        pytest.param(EXPRESSION, 5, id="branches are asked, not told"),
        pytest.param({"if": {"allOf": [ANY, ANY]}, "not": {"allOf": [ANY, ANY]}}, 1, id="nor are conditions"),
        pytest.param({"allOf": [ANY, ANY], "then": ANY}, 4, id="parts are"),
        pytest.param(JSON, 2, id="a list or an object"),
        pytest.param(BASED, 5, id="other members"),
        pytest.param(TWICE, None, id="one list twice"),
        pytest.param(among("e", e={"items": ref("e"), "allOf": [ref("f")], "type": "array"},
                           f={"items": ref("f")}), None, id="two recursions in one list"),
        pytest.param(among("e", e={"items": {"allOf": [ref("e"), ref("e")]}}), None, id="back twice"),
        pytest.param(among("e", e={"items": {"allOf": [ref("e")], "items": ref("e")}}), None, id="both"),
    ],
)  # fmt: skip
def test_errors_are_told_at_this_cost(schema: Schema, told: int | None) -> None:
    assert load(schema).told == told


def test_a_long_chain_of_references_is_measured() -> None:
    schema = chain(3_000, {"allOf": [NEXT]})
    check_schema(schema)
    assert load(schema).most == 6_002
