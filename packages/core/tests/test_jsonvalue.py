"""Strict JSON: what is refused, what cannot change, what is equal, how it is written."""

import copy
import enum
import json
import pickle
from collections import OrderedDict
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, ValidationError

from packages.core.tests.specs import json_values
from psych_runtime_core.errors import NotJson, pointer
from psych_runtime_core.jsonvalue import (
    FrozenDict,
    FrozenList,
    JsonObject,
    JsonValue,
    RecordObject,
    RecordValue,
    decode_json,
    encode_json,
    freeze,
    json_equal,
    thaw,
)

any_text = st.text(st.characters(codec=None), max_size=12)


class Colour(enum.StrEnum):
    RED = "red"


class Held(BaseModel):
    """Fields of each kind."""

    model_config = ConfigDict(frozen=True, defer_build=True)

    strict: JsonValue = None
    strict_object: JsonObject = FrozenDict()
    loose: RecordValue = None
    loose_object: RecordObject | None = None


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth - 1):
        value = [value]
    return value


def endless() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


REFUSED = [
    pytest.param(float("nan"), "not_json", "finite number", id="NaN"),
    pytest.param(float("inf"), "not_json", "finite number", id="infinity"),
    pytest.param(float("-inf"), "not_json", "finite number", id="minus infinity"),
    pytest.param(10**4_300, "not_json", "write a string", id="an int of 4,301 digits"),
    pytest.param({1: 2}, "not_json", "write a string", id="a key that is an int"),
    pytest.param({None: 2}, "not_json", "write a string", id="a key that is None"),
    pytest.param({Colour.RED: 2}, "not_json", "write a string", id="a key that is an enum"),
    pytest.param({1}, "not_json", "write an array", id="a set"),
    pytest.param(b"x", "not_json", "write a string", id="bytes"),
    pytest.param(Decimal("1.5"), "not_json", "write a number", id="a Decimal"),
    pytest.param(datetime(2026, 1, 1, tzinfo=UTC), "not_json", "ISO 8601", id="a datetime"),
    pytest.param(UUID(int=1), "not_json", "write a string", id="a UUID"),
    pytest.param(Colour.RED, "not_json", "write its value", id="an enum"),
    pytest.param(Held(), "not_json", "write an object", id="a model"),
    pytest.param(object(), "not_json", "write null", id="an object"),
    pytest.param(len, "callable", "register a tool", id="a function"),
    pytest.param(Colour, "callable", "register a tool", id="a class"),
    pytest.param(Held, "callable", "give a JSON Schema, Held.model_json_schema()", id="a model's class"),
    pytest.param("".join, "callable", "register a tool", id="a bound method"),
    pytest.param(nested(129), "too_deep", "128", id="129 levels"),
    pytest.param(endless(), "too_deep", "holds itself", id="a list that holds itself"),
]


@pytest.mark.parametrize(("value", "code", "advice"), REFUSED)
@pytest.mark.parametrize("surrogates", [False, True])
def test_what_has_no_json_form_is_refused_with_advice(
    value: object, code: str, advice: str, surrogates: bool
) -> None:
    with pytest.raises(NotJson) as refused:
        freeze(value, surrogates=surrogates)
    assert refused.value.code == code
    assert advice in refused.value.reason


@pytest.mark.parametrize("value", [float("nan"), {1}, b"x", Colour.RED, len, {1: 2}])
def test_a_refusal_points_at_the_place(value: object) -> None:
    with pytest.raises(NotJson) as refused:
        freeze({"a/b": [0, {"~": value}]})
    assert pointer(refused.value.loc) == "/a~1b/1/~0"


def test_128_levels_and_4300_digits_are_taken() -> None:
    assert freeze(nested(128)) == nested(128)
    assert freeze(10**4_300 - 1) == 10**4_300 - 1
    assert freeze(-(10**4_300) + 1) == -(10**4_300) + 1


@pytest.mark.parametrize(
    ("given_value", "frozen"),
    [
        pytest.param(3.0, 3, id="an integral float is the int"),
        pytest.param(-0.0, 0, id="minus zero is zero"),
        pytest.param(float(2**53 - 1), 2**53 - 1, id="the largest exact float"),
        pytest.param(float(2**53), float(2**53), id="a float that stands for several integers stays"),
        pytest.param(0.5, 0.5, id="another float stays"),
        pytest.param((1, (2,)), FrozenList([1, FrozenList([2])]), id="a tuple is an array"),
        pytest.param(OrderedDict({"b": 1, "a": 2}), FrozenDict({"b": 1, "a": 2}), id="a mapping"),
        pytest.param(True, True, id="a bool stays a bool"),
        pytest.param("\0", "\0", id="NUL stays"),
    ],
)
def test_freezing_gives_the_json_value(given_value: object, frozen: object) -> None:
    result = freeze(given_value)
    assert result == frozen
    assert type(result) is type(frozen)


class Boastful(int):
    """It says that it is less than any other, and more."""

    def __lt__(self, other: object) -> bool:
        return True

    def __gt__(self, other: object) -> bool:
        return True


class Posing(str):
    """It says that it is a number."""

    __slots__ = ()

    @property
    def __class__(self) -> type:
        return int

    @__class__.setter
    def __class__(self, value: type) -> None: ...


def test_a_scalar_is_what_it_holds_whatever_it_says_of_itself() -> None:
    number = freeze(Boastful(5))
    assert (number, type(number)) == (5, int)
    with pytest.raises(NotJson, match="more than 4,300 digits"):
        freeze(Boastful(10**4_300))
    text = freeze(Posing("a"))
    assert (text, type(text)) == ("a", str)


def test_subclasses_of_scalars_become_plain() -> None:
    class Text(str):
        __slots__ = ()

        def __str__(self) -> str:
            return "another"

    frozen = freeze({Text("k"): Text("v")})
    assert isinstance(frozen, FrozenDict)
    assert [(type(key), type(value)) for key, value in frozen.items()] == [(str, str)]
    assert frozen == {"k": "v"}


@pytest.mark.parametrize("value", ["a\ud800b", {"a\ud800b": 1}], ids=["text", "key"])
def test_only_records_keep_lone_surrogates(value: Any) -> None:
    assert freeze(value, surrogates=True) == value
    with pytest.raises(NotJson, match="lone surrogate"):
        freeze(value)


def test_a_surrogate_pair_is_the_character_it_means() -> None:
    assert freeze("\ud83d\ude00 \ude00", surrogates=True) == "\U0001f600 \ude00"


@given(json_values(any_text))
def test_freezing_twice_is_freezing_once_and_thawing_undoes_it(value: Any) -> None:
    frozen = freeze(value, surrogates=True)
    assert freeze(frozen, surrogates=True) == frozen
    assert freeze(thaw(frozen), surrogates=True) == frozen
    assert json_equal(thaw(frozen), freeze(value, surrogates=True))


# --- values that cannot change -------------------------------------------------------------------------

CHANGES: list[Callable[[Any], Any]] = [
    lambda value: value["o"].__setitem__("x", 1),
    lambda value: value["o"].__delitem__("a"),
    lambda value: value["o"].update({"x": 1}),
    lambda value: value["o"].setdefault("x", 1),
    lambda value: value["o"].pop("a"),
    lambda value: value["o"].popitem(),
    lambda value: value["o"].clear(),
    lambda value: value["o"].__ior__({"x": 1}),
    lambda value: value["l"].__setitem__(0, 1),
    lambda value: value["l"].__delitem__(0),
    lambda value: value["l"].append(1),
    lambda value: value["l"].extend([1]),
    lambda value: value["l"].insert(0, 1),
    lambda value: value["l"].remove(2),
    lambda value: value["l"].pop(),
    lambda value: value["l"].clear(),
    lambda value: value["l"].sort(),
    lambda value: value["l"].reverse(),
    lambda value: value["l"].__iadd__([1]),
    lambda value: value["l"].__imul__(2),
]


@pytest.mark.parametrize("change", CHANGES)
def test_no_mutator_changes_a_frozen_value(change: Callable[[Any], Any]) -> None:
    value = freeze({"o": {"a": 1}, "l": [3, 2]})
    with pytest.raises(TypeError, match="cannot change"):
        change(value)
    assert value == {"o": {"a": 1}, "l": [3, 2]}


def test_initialising_again_changes_nothing() -> None:
    frozen: Any = freeze({"o": {"a": 1}, "l": [1]})
    frozen["o"].__init__({"b": 2})
    frozen["l"].__init__([2])
    assert frozen == {"o": {"a": 1}, "l": [1]}


@given(json_values())
def test_a_frozen_value_hashes_pickles_and_is_its_own_copy(value: Any) -> None:
    frozen: Any = freeze(value)
    assert hash(frozen) == hash(freeze(value))
    assert pickle.loads(pickle.dumps(frozen)) == frozen
    assert type(pickle.loads(pickle.dumps(frozen))) is type(frozen)
    assert copy.deepcopy(frozen) is frozen
    assert copy.copy(frozen) is frozen


def test_a_thawed_copy_can_change_and_leaves_the_frozen_one_alone() -> None:
    frozen = freeze({"a": [{"b": 1}]})
    plain = thaw(frozen)
    plain["a"][0]["b"] = 2
    assert frozen == {"a": [{"b": 1}]}
    assert (type(plain), type(plain["a"]), type(plain["a"][0])) == (dict, list, dict)


# --- equality ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("a", "b", "equal"),
    [
        (1, 1.0, True),
        (True, 1, False),
        (False, 0, False),
        (0.0, -0.0, True),
        (None, False, False),
        ("1", 1, False),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        ({"a": 1}, {"a": True}, False),
        ({"a": None}, {}, False),
        ({"a": None}, {"b": None}, False),
        ([1, 2], (1, 2), True),
        ([1, 2], [2, 1], False),
        ([1], [1, 1], False),
        ([], {}, False),
        ("é", "e\u0301", False),
    ],
)
def test_equality_is_that_of_json(a: Any, b: Any, equal: bool) -> None:
    assert json_equal(a, b) is equal
    assert json_equal(b, a) is equal
    assert json_equal({"deep": [a]}, {"deep": [b]}) is equal


# --- as bytes ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ({"b": 1, "a": [None, True, "x"]}, b'{"a":[null,true,"x"],"b":1}'),
        ({"\U0001f600": 1, "\uffff": 2}, b'{"\xef\xbf\xbf":2,"\xf0\x9f\x98\x80":1}'),
        ([3.0, -0.0, 1.5, 1e16, 0.1, 1e-7], b"[3,0,1.5,1e+16,0.1,1e-07]"),
        (900.0, b"900"),
        ('1.0, "2.0', b'"1.0, \\"2.0"'),
        ("\0\n/é\x7f", b'"\\u0000\\n/\xc3\xa9\x7f"'),
        ((1, (2,)), b"[1,[2]]"),
        ({"é": "\ud800"}, b'{"\\u00e9":"\\ud800"}'),
    ],
)
def test_the_canonical_form_is_one_line_of_bytes(value: object, written: bytes) -> None:
    assert encode_json(value) == written


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {1, 2}, object(), b"x"])
def test_what_has_no_json_form_is_not_written(value: object) -> None:
    with pytest.raises((TypeError, ValueError)):
        encode_json({"a": value})


@given(json_values(any_text))
def test_what_was_written_reads_back_equal(value: Any) -> None:
    frozen = freeze(value, surrogates=True)
    assert json_equal(decode_json(encode_json(frozen)), frozen)
    assert encode_json(decode_json(encode_json(frozen))) == encode_json(frozen)


@given(json_values(any_text))
def test_a_value_and_its_frozen_form_are_written_alike(value: Any) -> None:
    assert encode_json(freeze(value, surrogates=True)) == encode_json(
        json.loads(json.dumps(value))  # which joins surrogate pairs, as freezing does
    )


@given(json_values(), json_values())
def test_equal_values_have_equal_bytes_and_others_have_not(a: Any, b: Any) -> None:
    assert json_equal(freeze(a), freeze(b)) is (encode_json(freeze(a)) == encode_json(freeze(b)))


@pytest.mark.parametrize(
    "document",
    [b"", b"[", b"NaN", b"[Infinity]", b"{} {}", b"\xff", b"[" * 100_000, "'a'", "9" * 4_301],
    ids=["empty", "cut", "NaN", "infinity", "trailing", "no UTF-8", "nested", "quotes", "digits"],
)
def test_what_is_no_json_is_a_value_error(document: bytes | str) -> None:
    with pytest.raises(ValueError):
        decode_json(document)


def test_a_key_that_stands_twice_is_refused_where_it_is_asked_for() -> None:
    assert decode_json('{"a": 1, "a": 2}') == {"a": 2}
    with pytest.raises(ValueError, match="'a' stands twice"):
        decode_json('{"b": {"a": 1, "a": 2}}', unique_keys=True)


# --- as fields -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("field", ["strict", "loose", "strict_object", "loose_object"])
def test_a_field_holds_a_frozen_copy(field: str) -> None:
    source = {"a": [1.0, {"b": ()}]}
    held = getattr(Held.model_validate({field: source}), field)
    source["a"].append(2)
    assert held == {"a": [1, {"b": []}]}
    assert type(held) is FrozenDict
    assert type(held["a"]) is FrozenList


@pytest.mark.parametrize("field", ["strict", "loose", "strict_object", "loose_object"])
def test_a_refused_field_says_where_and_under_which_code(field: str) -> None:
    with pytest.raises(ValidationError) as refused:
        Held.model_validate({field: {"a": [0, len]}})
    [error] = refused.value.errors()
    assert error["loc"] == (field, "a", 1)
    assert error.get("ctx", {})["code"] == "callable"


@pytest.mark.parametrize("field", ["strict_object", "loose_object"])
@pytest.mark.parametrize("value", [[1], "x", 3, True])
def test_an_object_field_takes_objects_alone(field: str, value: object) -> None:
    with pytest.raises(ValidationError, match="must be an object"):
        Held.model_validate({field: value})


def test_only_a_records_field_keeps_a_lone_surrogate() -> None:
    assert Held.model_validate({"loose": ["\ud800"]}).loose == ["\ud800"]
    with pytest.raises(ValidationError, match="lone surrogate"):
        Held.model_validate({"strict": ["\ud800"]})


def test_a_model_of_frozen_fields_hashes() -> None:
    assert hash(Held(strict={"a": [1]})) == hash(Held(strict={"a": [1.0]}))
