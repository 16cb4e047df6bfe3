"""What judging costs beyond visits: what keywords weigh, what of it a value has, and what is too much."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema_rs import Draft202012Validator

from packages.core.tests.json_schemas import INSTANCES, Schema
from psych_runtime_core.errors import BadSchema
from psych_runtime_core.jsonvalue import Json, encode_json, freeze
from psych_runtime_core.schema import check_schema, load, patterns, reading, violations
from psych_runtime_core.schema.asked import Asking
from psych_runtime_core.schema.met import met
from psych_runtime_core.schema.patterns import measured
from psych_runtime_core.schema.size import Amounts, extent, places
from psych_runtime_core.schema.survey import Survey
from psych_runtime_core.schema.weight import weights

WORDS = [f"v{index}" for index in range(1_000)]
OPEN = {word: Schema() for word in WORDS}
# The judge has to try so many states for each character.
BUSY = "[01]*1[01]{200}[2-9]"
MAIL = r"^[^@\s]+@[^@\s]+\.[^@\s]+$"


def each(**keywords: Any) -> Schema:
    return {"items": keywords}


def takes_too_long(value: Any, schema: Schema) -> bool:
    check_schema(schema)
    return any(found.message.startswith("takes too long to judge") for found in violations(value, schema))


# --- what a value has --------------------------------------------------------------------------------------


def amounts(value: Any) -> Amounts:
    return Amounts(encode_json(value))


@pytest.mark.parametrize(
    ("value", "found"),
    [
        pytest.param(None, {"values": 1, "places": 1, "text": 0, "integers": 0, "numbers": 0}, id="null"),
        pytest.param([1, [2, 3]], {"values": 5, "integers": 3, "numbers": 0, "visits": 5}, id="a list"),
        pytest.param({"a": 1, "b": {}}, {"values": 4, "places": 6, "text": 6, "integers": 1}, id="objects"),
        pytest.param("x" * 160, {"values": 1, "visits": 11, "text": 162, "parts": 11}, id="a text"),
        pytest.param('1,2.5[{"a":1e9', {"values": 1, "integers": 0, "numbers": 0}, id="no number"),
        pytest.param(["\\", '"', "\\\\\"["], {"values": 4, "places": 4, "integers": 0}, id="escapes"),
        pytest.param([0.5, -1.5, 2], {"integers": 1, "numbers": 2, "digits": 0, "pairs": 0}, id="fractions"),
        pytest.param([10**18 - 1], {"integers": 1, "numbers": 0, "digits": 0}, id="18 digits"),
        pytest.param([2**63 - 1], {"integers": 1, "numbers": 0, "digits": 0, "pairs": 0}, id="19 digits"),
        pytest.param([2**63], {"integers": 0, "numbers": 1, "digits": 103, "pairs": 30}, id="64 bits"),
        pytest.param([-(10**119)], {"numbers": 1, "digits": 220, "pairs": 1_200}, id="120 digits"),
        pytest.param([1e300], {"numbers": 1, "digits": 100 + 301**2 // 120, "pairs": 3}, id="an exponent"),
        pytest.param([1.5e-300], {"numbers": 1, "digits": 100 + 303**2 // 120, "pairs": 0}, id="a small one"),
        pytest.param([True, False, None], {"values": 4, "integers": 0, "numbers": 0}, id="words"),
    ],
)  # fmt: skip
def test_a_value_has_so_much(value: Any, found: Mapping[str, int]) -> None:
    assert {name: getattr(amounts(value), name) for name in found} == found


TEXTS = st.text() | st.sampled_from(['"', "\\", '\\"', "[1,2]", '{"a":1.5}', "1e9", "\x00", "é", "😀"])
NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(10**40), 10**40)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner),
    max_leaves=20,
)


def held(value: Json) -> list[Json]:
    """`value` and all that it holds, names too."""
    if isinstance(value, Mapping):
        return [value, *value, *(part for item in value.values() for part in held(item))]
    return [value, *(part for item in value for part in held(item))] if isinstance(value, list) else [value]


@given(VALUES)
def test_an_amount_is_never_less_than_there_is(value: Any) -> None:
    found, parts = amounts(value), held(freeze(value, surrogates=True))
    numbers = [part for part in parts if isinstance(part, int | float) and not isinstance(part, bool)]
    long = [part for part in numbers if isinstance(part, float) or abs(part) >= 2**63]
    assert found.places >= places(value) == len(parts)
    assert found.integers + found.numbers == len(numbers)
    assert found.numbers >= len(long)
    texts = [part for part in parts if isinstance(part, str)]
    assert found.text >= sum(len(text.encode("utf-8", "surrogatepass")) for text in texts)


@given(VALUES, st.integers(0, 40))
def test_what_there_is_to_compare_is_counted_until_it_is_enough(value: Any, most: int) -> None:
    plain = json.loads(encode_json(value))
    parts = held(plain)
    there = len(parts) + sum(len(part) // 4 for part in parts if isinstance(part, str))
    assert min(extent(plain, most), most + 1) == min(there, most + 1)


class Counted(list[Any]):
    """A list that nobody may go through."""

    def __iter__(self) -> Any:
        raise AssertionError("all of it was looked at")


def test_of_a_long_list_to_compare_the_length_is_enough() -> None:
    assert extent([Counted([None] * 99)], 50) > 50


# --- what keywords weigh -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("schema", "weighed"),
    [
        pytest.param({}, {}, id="nothing"),
        pytest.param({"required": WORDS, "properties": OPEN}, {}, id="looked up"),
        pytest.param({"enum": WORDS}, {}, id="words are looked up"),
        pytest.param({"enum": [1, 2]}, {"numbers": 500, "digits": 2}, id="and so are integers, among them"),
        pytest.param({"enum": ["a", None]}, {"options": 4}, id="others are compared one by one"),
        pytest.param({"enum": [{"a": [None]}]}, {"options": 2, "listed": 6}, id="with all that they hold"),
        pytest.param({"enum": ["x" * 158, None]}, {"options": 4, "listed": 10}, id="and as long as they are"),
        pytest.param({"enum": [0.5]}, {"options": 2, "digits": 1, "numbers": 250, "integers": 250},
                     id="half"),
        pytest.param({"enum": [[0.5], [1], "a"]},
                     {"options": 6, "listed": 4, "digits": 2, "numbers": 500, "integers": 250},
                     id="some with numbers"),
        pytest.param({"const": "x" * 1_000}, {}, id="one text"),
        pytest.param({"const": [None, None]}, {"options": 2, "listed": 4}, id="one list"),
        pytest.param({"const": {"a": None}}, {"options": 2, "listed": 4}, id="one object"),
        pytest.param({"const": None}, {}, id="one word"),
        pytest.param({"const": 10**119}, {"numbers": 370, "integers": 370, "digits": 1}, id="digits"),
        pytest.param({"minimum": 0, "maximum": 9}, {"digits": 2}, id="bounds that are integers"),
        pytest.param({"minimum": 0.5}, {"digits": 2, "numbers": 250, "integers": 250}, id="other bounds"),
        pytest.param({"multipleOf": 3}, {"digits": 4, "numbers": 250}, id="a division"),
        pytest.param({"multipleOf": 0.5}, {"digits": 4, "numbers": 250, "integers": 250}, id="by half"),
        pytest.param({"multipleOf": 1e-300}, {"digits": 4, "numbers": 3_270, "integers": 3_270},
                     id="by many digits"),
        pytest.param({"type": ["null", "integer"]}, {"digits": 1}, id="a type of numbers"),
        pytest.param({"type": "string", "minLength": 3}, {}, id="a type of others"),
        pytest.param({"dependentRequired": {"a": ["b", "c"]}}, {"places": 3}, id="names that need names"),
        pytest.param({"dependentSchemas": {"a": {}, "b": True}}, {"places": 2}, id="and schemas"),
        pytest.param({"pattern": "ab"}, {"text": 4}, id="a pattern"),
        pytest.param({"patternProperties": {"[a[b]]": {}}}, {"places": 2, "text": 4},
                     id="one that is not read"),
        pytest.param({"uniqueItems": True}, {"parts": 8, "pairs": 1}, id="no two alike"),
        pytest.param({"uniqueItems": False}, {}, id="any two"),
    ],
)  # fmt: skip
def test_a_schema_weighs_so_much(schema: Schema, weighed: dict[str, int]) -> None:
    assert weights(schema, reading.weighed({"ab": 128, "[a[b]]": 128})) == weighed


# --- what takes too long -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("schema", "item", "few", "many"),
    [
        pytest.param(each(enum=[{"a": word} for word in WORDS]), {"a": "v999"}, 100, 10_000, id="objects"),
        pytest.param(each(enum=[*WORDS, None]), "v999", 1_000, 50_000, id="words and null"),
        pytest.param(each(enum=[index + 0.5 for index in range(1_000)]), 1, 100, 10_000, id="fractions"),
        pytest.param(each(enum=[2**70 + index for index in range(1_000)]), 2**70, 100, 10_000, id="long"),
        pytest.param(each(anyOf=[{"enum": list(range(1_000))}, True]), 0.5, 100, 10_000, id="integers"),
        pytest.param(each(const=[[None] * 99] * 100), [[None] * 99] * 100, 10, 3_000, id="lists in a list"),
        pytest.param(each(enum=["x" * 1_999 + word for word in WORDS] + [None]), "x" * 1_999 + "v999",
                     100, 500, id="long words and null"),
        pytest.param(each(const=[0.5] * 100), [0.5] * 100, 100, 4_000, id="a list of fractions"),
        pytest.param(each(minimum=0.5, maximum=1.5), 0.75, 1_000, 200_000, id="bounds that are fractions"),
        pytest.param(each(minimum=0), 10**4_200, 10, 400, id="numbers of thousands of digits"),
        pytest.param(each(type="number"), 1e300, 1_000, 100_000, id="exponents"),
        pytest.param(each(multipleOf=1e-300), 5, 1_000, 50_000, id="a division by the least"),
        pytest.param(each(dependentRequired={word: ["a"] for word in WORDS}), {"x": 1}, 1_000, 20_000,
                     id="names that need names"),
        pytest.param(each(patternProperties={f"^a[bc]{index}$": {} for index in range(100)}), {"abcd": 1},
                     100, 20_000, id="patterns of names"),
        pytest.param(each(pattern=BUSY), "01" * 50, 20, 5_000, id="a pattern"),
        pytest.param(each(propertyNames={"pattern": BUSY}), {"01" * 50: 1}, 20, 5_000, id="of each name"),
        pytest.param(each(additionalProperties=each(pattern=BUSY)), {"a": ["01" * 50]}, 20, 5_000,
                     id="below any name"),
        pytest.param({"uniqueItems": True, "contains": {}}, 10**40, 1, 2_000, id="no two alike, long ones"),
        pytest.param({"uniqueItems": True, "contains": {}}, 1e300, 1, 20_000, id="nor with exponents"),
        pytest.param({"uniqueItems": True, "items": {"$ref": "#"}}, [1], 1, 50_000, id="at any depth"),
    ],
)  # fmt: skip
def test_work_that_multiplies_is_refused_before_it_is_done(
    schema: Schema, item: Any, few: int, many: int
) -> None:
    assert not takes_too_long([item] * few, schema)
    assert takes_too_long([item] * many, schema)


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        pytest.param(each(enum=WORDS), ["v999"] * 200_000, id="words out of a thousand"),
        pytest.param(each(type="number", minimum=0, maximum=1), [0.5] * 200_000, id="fractions in bounds"),
        pytest.param(each(type="integer", minimum=0), [10**18 - 1] * 100_000, id="integers"),
        pytest.param({"uniqueItems": True}, [f"{index}" for index in range(100_000)], id="words, none twice"),
        pytest.param(each(multipleOf=0.01), [1.25, 3, 999.99] * 40_000, id="prices"),
        pytest.param({"const": list(range(5_000))}, list(range(5_000)), id="a long list that is the const"),
        pytest.param({"enum": [None, {"a": ["x" * 99] * 3_000}]}, {"a": ["x" * 99] * 3_000}, id="or listed"),
        pytest.param(each(anyOf=[{"const": list(range(5_000))}, {"type": ["array", "string"]}]),
                     [[1], "x"] * 20_000, id="small ones beside a long const"),
        pytest.param(each(const={"a": 1, "b": [True]}), [{"a": 1, "b": [True]}] * 30_000, id="one value"),
        pytest.param(each(required=WORDS[:9], properties=OPEN),
                     [dict.fromkeys(WORDS[:9], 1)] * 10_000, id="objects"),
        pytest.param(each(pattern=r"^\d{4}-\d{2}-\d{2}$"), ["2024-02-29"] * 50_000, id="dates"),
        pytest.param(each(pattern=MAIL), ["ann@example.org"] * 10_000, id="addresses"),
        pytest.param(each(pattern="^https?://"), ["https://example.org/a"] * 50_000, id="links"),
    ],
)  # fmt: skip
def test_what_people_send_is_judged(schema: Schema, value: Any) -> None:
    check_schema(schema)
    assert violations(value, schema) == ()


LONG = "01" * 150_000
NAMED: Schema = {
    "properties": {"mail": {"pattern": MAIL}, "name": {"pattern": BUSY}, "body": {"type": "string"}}
}
LISTED: Schema = {"properties": {"rows": each(properties={"name": {"items": {"pattern": BUSY}}})}}
TREE: Schema = {"properties": {"name": {"pattern": BUSY}, "below": {"items": {"$ref": "#"}}}}


LISTED_NUMBERS: Schema = {"enum": [index / 100 for index in range(131)]}
MANY: Schema = {"items": {"type": "number"}}
FRACTIONS = [index / 7 for index in range(5_000)]


@pytest.mark.parametrize(
    ("schema", "value", "too_long"),
    [
        pytest.param(NAMED, {"mail": "a@b.c", "name": "Ann", "body": LONG}, False, id="beside it"),
        pytest.param(NAMED, {"mail": "a@b.c", "name": LONG, "body": ""}, True, id="in it"),
        pytest.param(NAMED, {"mail": "a@b.c", "more": {"name": LONG}}, False, id="below another name"),
        pytest.param(LISTED, {"rows": [{"name": ["Ann"], "body": LONG}]}, False, id="beside it in a list"),
        pytest.param(LISTED, {"rows": [{"name": ["Ann", LONG]}]}, True, id="in a list of it"),
        pytest.param(TREE, {"below": [{"name": "Ann", "body": LONG}]}, False, id="beside it at any depth"),
        pytest.param(TREE, {"below": [{"below": [{"name": LONG}]}]}, True, id="in it at any depth"),
        pytest.param({"additionalProperties": {"pattern": BUSY}}, {"any": LONG}, True, id="in any member"),
        pytest.param({"propertyNames": {"pattern": BUSY}}, {"any": LONG}, False, id="below what it reads"),
        pytest.param({"propertyNames": {"pattern": BUSY}}, {LONG: 1}, True, id="a name that it reads"),
        pytest.param({"patternProperties": {BUSY: {}}}, {"any": LONG}, False, id="by pattern"),
    ],
)  # fmt: skip
def test_only_texts_that_a_pattern_may_read_count(schema: Schema, value: Any, too_long: bool) -> None:
    assert takes_too_long(value, schema) is too_long


@pytest.mark.parametrize(
    ("schema", "value", "too_long"),
    [
        pytest.param({"properties": {"t": LISTED_NUMBERS, "emb": MANY}}, {"t": 0.5, "emb": FRACTIONS}, False,
                     id="beside them"),
        pytest.param({"properties": {"t": LISTED_NUMBERS, "emb": each(**LISTED_NUMBERS)}},
                     {"t": 0.5, "emb": FRACTIONS}, True, id="among them"),
        pytest.param({"prefixItems": [LISTED_NUMBERS], "items": MANY}, [0.5, FRACTIONS], False,
                     id="after one"),
        pytest.param({"prefixItems": [MANY], "items": LISTED_NUMBERS}, [FRACTIONS, 0.5], False,
                     id="before it"),
        pytest.param({"properties": {"a": MANY}, "additionalProperties": LISTED_NUMBERS},
                     {"a": FRACTIONS, "b": 0.5}, False, id="a member named"),
        pytest.param({"properties": {"a": MANY}, "additionalProperties": each(**LISTED_NUMBERS)},
                     {"a": [1], "b": FRACTIONS}, True, id="another member"),
        pytest.param({"patternProperties": {"^a": each(**LISTED_NUMBERS)}}, {"a": FRACTIONS}, True,
                     id="by name"),
        pytest.param({"allOf": [{"properties": {"a": {"enum": [FRACTIONS[:500], None]}}}]},
                     {"a": FRACTIONS}, False, id="one list of them"),
        pytest.param({"properties": {"a": {"enum": [[number] for number in FRACTIONS[:500]]}}},
                     {"a": FRACTIONS}, True, id="many lists"),
        pytest.param({"properties": {"a": {"uniqueItems": True}, "b": MANY}},
                     {"a": [1, 2], "b": [10**40] * 4_000}, False, id="beside a set"),
        pytest.param({"allOf": [{"properties": {"t": LISTED_NUMBERS}}], "unevaluatedProperties": MANY},
                     {"t": 0.5, "emb": FRACTIONS}, False, id="what is left over"),
    ],
)  # fmt: skip
def test_only_numbers_that_a_keyword_meets_count(schema: Schema, value: Any, too_long: bool) -> None:
    assert takes_too_long(value, schema) is too_long


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        pytest.param(
            {"properties": {"t": LISTED_NUMBERS, "emb": MANY}},
            {"t": 0.5, "emb": FRACTIONS * 20},
            id="many places",
        ),
        pytest.param(
            {"patternProperties": {f"^a{index}": {"enum": [0.5, index]} for index in range(300)}},
            dict.fromkeys((f"{index}" for index in range(110_000)), 0.5),
            id="many names by many patterns",
        ),
        pytest.param(
            {"allOf": [{"additionalProperties": {"minimum": index + 0.5}} for index in range(300)]},
            dict.fromkeys((f"{index}" for index in range(20_000)), 0.5),
            id="many members by many ways",
        ),
        pytest.param(
            {"propertyNames": {"pattern": BUSY}},
            dict.fromkeys((f"{index}" for index in range(110_000)), 0.5),
            id="names of many members",
        ),
        pytest.param(
            {"uniqueItems": True, "items": {"$ref": "#"}},
            [[[[index]]] for index in range(30_000)],
            id="sets in a large set",
        ),
        pytest.param(
            {"uniqueItems": True, "items": {"$ref": "#"}},
            json.loads("[" * 100 + json.dumps("x" * 1_000_000) + "]" * 100),
            id="a long text in sets in sets",
        ),
    ],
)
def test_a_value_is_followed_down_for_so_long(schema: Schema, value: Any) -> None:
    asking = Asking(Survey(schema, reading.weighed(measured(schema).sizes)))
    assert met(asking, value, 10**30) is None
    assert takes_too_long(value, schema)


# --- what is refused of an author -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        pytest.param({"pattern": "[01]{2000000}"}, "less counted repetition", id="one pattern too large"),
        pytest.param({"pattern": r"\pL{600}"}, "let maxLength bound a length", id="of many letters"),
        pytest.param({"pattern": "(a{1000}){1000}"}, "less counted repetition", id="of counts that multiply"),
        pytest.param(
            {"properties": {f"p{index}": {"pattern": f"[01]{{40000}}{index}"} for index in range(9)}},
            "more than 33,554,432 bytes together",
            id="patterns too large together",
        ),
        pytest.param(
            {"$defs": {f"p{at}": {"patternProperties": {f"[01]{{40000}}{at}": True}} for at in range(9)}},
            "more than 33,554,432 bytes together",
            id="in definitions, of names",
        ),
    ],
)  # fmt: skip
def test_a_schema_that_is_too_dear_by_itself_is_refused(schema: Schema, reason: str) -> None:
    with pytest.raises(BadSchema, match=reason):
        check_schema(schema)


@pytest.mark.parametrize(
    "schema",
    [
        pytest.param({"enum": [*WORDS, None]}, id="many values"),
        pytest.param({"allOf": [{"enum": [*WORDS[:90], None]}] * 9}, id="some, many times"),
        pytest.param({"pattern": BUSY}, id="a pattern"),
        pytest.param({"items": {"properties": {"a": {"patternProperties": {BUSY: True}}}}}, id="deep down"),
    ],
)
def test_a_schema_that_weighs_too_much_at_one_place_is_refused(
    schema: Schema, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_schema(schema)
    monkeypatch.setattr(load, "MAX_WEIGHT", 1_000)
    with pytest.raises(BadSchema, match="one string, number or object takes too long to judge"):
        check_schema(schema)


def test_a_pattern_is_measured_by_steps_and_once() -> None:
    schema = {"allOf": [{"pattern": f"[01]{{{count}}}x"} for count in (10, 10, 100, 1_000, 10_000)]}
    sizes = measured(schema).sizes
    assert len(sizes) == 4
    assert sorted(sizes.values()) == [4_096, 16_384, 262_144, 1_048_576]


def test_what_is_no_pattern_is_not_measured() -> None:
    schema = {
        "const": {"pattern": "a"},
        "properties": {"pattern": {"pattern": "b"}, "patternProperties": {"type": "string"}},
        "x": [{"pattern": "("}, {"pattern": 3}],
    }
    found = measured(schema)
    assert (found.sizes, found.refused, found.too_large) == ({"b": 4_096}, ("x", 0, "pattern"), False)


@pytest.mark.parametrize(
    ("pattern", "tried"),
    [
        pytest.param("[01]{{40000}}{}", 9, id="large ones"),
        pytest.param("[01]{{4000000}}{}", 4, id="such as cannot be built"),
        pytest.param("(?=[01]{{4000000}}){}", 1_000, id="but such as cannot be read are told at once"),
    ],
)
def test_patterns_are_not_tried_beyond_what_they_may_have(
    pattern: str, tried: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    built: set[str] = set()

    def counted(schema: Any, **options: Any) -> Draft202012Validator:
        built.add(schema["pattern"])
        return Draft202012Validator(schema, **options)

    monkeypatch.setattr(patterns, "Draft202012Validator", counted)
    found = measured({"allOf": [{"pattern": pattern.format(index)} for index in range(1_000)]})
    assert found.too_large is (tried < 1_000)
    assert len([each for each in built if not each.startswith("(?:")]) <= tried


# --- what is said of a value that does not fit ------------------------------------------------------------


@pytest.mark.parametrize(
    ("piece", "wrong"),
    [
        pytest.param({"const": "x" * 50_000}, 1, id="const"),
        pytest.param({"not": {"enum": ["x" * 50_000, 1]}}, 1, id="not"),
        pytest.param({"enum": ["x" * 50_000, "y"]}, 1, id="enum"),
        pytest.param({"required": ["x" * 50_000]}, {}, id="required"),
        pytest.param({"maxLength": 3}, "x" * 6_000, id="the value itself"),
    ],
)
def test_errors_that_repeat_much_are_not_all_told(piece: Schema, wrong: Any) -> None:
    assert len(violations([wrong] * 20, each(**piece))) == 20
    assert len(violations([wrong] * 1_900, each(**piece))) == 1


def test_a_value_that_holds_a_text_deep_down_is_told_one_error() -> None:
    schema: Schema = {"$ref": "#/$defs/e", "$defs": {"e": {"items": {"$ref": "#/$defs/e"}, "maxItems": 0}}}
    value: Any = "x" * 500_000
    for _ in range(100):
        value = [value]
    assert len(violations(value, schema)) == 1


@given(value=INSTANCES)
def test_what_weighs_nothing_changes_no_verdict(value: Any) -> None:
    busy: Schema = {"anyOf": [{"pattern": BUSY}, {"enum": [0.5, None, {"a": 1}]}, {"uniqueItems": True}]}
    assert (violations(value, busy) == ()) is Draft202012Validator(busy).is_valid(value)
