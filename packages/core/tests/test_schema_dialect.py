"""A pattern means what ECMA-262 says, also where the engine has other words; and it is shown as written."""

from __future__ import annotations

from itertools import permutations, product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from packages.core.tests.json_schemas import Schema
from psych_runtime_core.errors import BadSchema
from psych_runtime_core.schema import check_schema, violations
from psych_runtime_core.schema.dialect import engines
from psych_runtime_core.schema.expression import expression
from psych_runtime_core.schema.states import states
from psych_runtime_core.schema.worded import worded


def fits(text: str, pattern: str) -> bool:
    schema: Schema = {"pattern": pattern}
    check_schema(schema)
    return violations(text, schema) == ()


# As an engine of ECMA-262 has it, in its Unicode mode, or in the other one where that knows no such pattern.
@pytest.mark.parametrize(
    ("pattern", "taken", "refused"),
    [
        pytest.param(r"\bé", ["aé"], ["é", "-é"], id="no word begins with a letter beyond ASCII"),
        pytest.param(r"^\bab\b$", ["ab"], ["abé"], id="a word of ASCII"),
        pytest.param(r"a\b", ["a", "aé", "a-"], ["ab"], id="nor does one go on with it"),
        pytest.param(r"\B", ["", "é", "ab"], ["a"], id="no edge of a word"),
        pytest.param(r"^é\Bé$", ["éé"], ["é"], id="between such letters there is none"),
        pytest.param(r"^\\b$", [r"\b"], ["", "b"], id="a backslash before a letter"),
        pytest.param(r"^[\b]$", ["\b"], ["b"], id="a backspace"),
        pytest.param(r"^[\\b]$", ["\\", "b"], ["\b"], id="a backslash and a letter"),
        pytest.param(r"^\0$", ["\0"], ["0"], id="a null"),
        pytest.param(r"^[\0]$", ["\0"], ["0"], id="a null in a class"),
        pytest.param("^[a-z&&[^b]]$", ["b]", "&]", "[]", "^]"], ["b", "a", "c"], id="nothing is intersected"),
        pytest.param(r"^[\w&&\d]$", ["a", "&", "1"], ["-"], id="nor are sets"),
        pytest.param("^[a~~b]$", ["a", "b", "~"], ["~~"], id="no symmetric difference"),
        pytest.param(r"^[\w--a]$", ["a", "-", "b"], ["."], id="nothing is taken away"),
        pytest.param("^[!--]$", ["!", "-", "+"], ["."], id="a range up to a hyphen"),
        pytest.param("^[--/]$", ["-", ".", "/"], [",", "0"], id="a range from a hyphen"),
        pytest.param("^[a-c-e]$", ["a", "c", "-", "e"], ["d"], id="a hyphen after a range"),
        pytest.param(r"^[\d-x]$", ["1", "-", "x"], ["y"], id="a hyphen after a set"),
        pytest.param(r"^[\P{L}-x]$", ["1", "-", "x"], ["y"], id="a hyphen after all but a set"),
        pytest.param(r"^[\p{L}-1]$", ["a", "-", "1"], ["2"], id="a hyphen after a set with a name"),
        pytest.param("^[-a]$|^[b-]$", ["-", "a", "b"], ["c"], id="a hyphen at an end"),
        pytest.param("^[[:alpha:]]$", ["a]", ":]", "[]"], ["b", "a", "z]"], id="no class has a name"),
        pytest.param("^[[]$", ["["], ["]"], id="a bracket"),
        pytest.param("^[a[b]$", ["a", "[", "b"], ["]"], id="a bracket in between"),
        pytest.param(r"^[^[\]]+$", ["ab"], ["[", "]"], id="all but brackets"),
        pytest.param("^[^]$", ["a", "\n", "é"], ["", "ab"], id="all there is"),
        pytest.param("a[]|b", ["b"], ["a", "a]", "a|"], id="nothing"),
        pytest.param("^[]a]$", [], ["]", "a", "a]"], id="nothing, and more"),
        pytest.param("^[^]a]$", ["xa]"], ["x", "b"], id="all there is, and more"),
        pytest.param(r"^[A-Za-z0-9_.&~-]+\[\]$", ["a-b[]", "&~[]"], ["[]"], id="what most write"),
        pytest.param(r"^\ud83d\uDE00{2}$", ["😀😀"], ["😀", "😀😁"], id="one character of two halves"),
        pytest.param(r"^[\uD83d\ude00-\ud83d\ude02]$", ["😀", "😁", "😂"], ["😃", "-"], id="in a class"),
        pytest.param(r"^[^\ud800\udc00\udbff\udfff]$", ["a"], ["\U00010000", "\U0010ffff"], id="the last"),
        pytest.param(r"^[\w-\u{5A}-{]$", ["Z", "-", "{", "5"], ["[", "}"], id="a number in braces is one"),
        pytest.param(r"^\\ud83d\\ude00$", [r"\ud83d\ude00"], ["😀"], id="no halves, but a backslash"),
    ],
)  # fmt: skip
def test_a_pattern_means_what_its_standard_says(pattern: str, taken: list[str], refused: list[str]) -> None:
    assert [text for text in taken if not fits(text, pattern)] == []
    assert [text for text in refused if fits(text, pattern)] == []


@pytest.mark.parametrize(
    "pattern", [r"\ud83d", r"\ude00\ud83d", r"[\ud83d]", r"\ude00\ude00", r"\ud83d\ud83d", r"\ud83d\ue000"]
)
def test_half_a_character_is_no_pattern(pattern: str) -> None:
    assert engines(pattern) == pattern
    with pytest.raises(BadSchema, match="a pattern cannot be one"):
        check_schema({"pattern": pattern})


CHARACTERS = "[]&~-^\\ab:!,.é|$ "
_CHARACTER = st.sampled_from(CHARACTERS)


def _escaped(character: str) -> str:
    return f"\\{character}" if character in "]\\" else character


@given(st.sets(st.tuples(_CHARACTER, _CHARACTER).map(sorted).map(tuple)), st.sets(_CHARACTER), st.booleans())
def test_a_class_holds_what_it_lists(ranges: set[Any], characters: set[str], negated: bool) -> None:
    """A hyphen stands first, and so does a range from one: elsewhere it would make a range itself."""
    listed = [f"{_escaped(first)}-{_escaped(last)}" for first, last in ranges]
    listed += map(_escaped, characters - {"-"})
    written = "".join(sorted(listed, key=lambda each: (each[0] != "-", each[0] == "^", each)))
    written = "-" * ("-" in characters and not written.startswith("-")) + written
    holds = {each for each in CHARACTERS if any(first <= each <= last for first, last in ranges)}
    holds |= characters if written.startswith("-") else characters - {"-"}
    negated = negated or written.startswith("^")
    wanted = set(CHARACTERS) - holds if negated else holds
    assert {each for each in CHARACTERS if fits(each, f"^[{'^' * negated}{written}]$")} == wanted


@pytest.mark.parametrize(
    ("pattern", "told"),
    [
        pytest.param(r"^\d{4}-\d{2}$", r"^\d{4}-\d{2}$", id="what has no such words"),
        pytest.param("^[A-Za-z0-9_]+(?:a|b)*$", "^[A-Za-z0-9_]+(?:a|b)*$", id="nor a class"),
        pytest.param("[a", "[a", id="what is no pattern"),
    ],
)
def test_what_the_engine_reads_alike_is_left_alone(pattern: str, told: str) -> None:
    assert engines(pattern) == told


def test_the_edge_of_a_word_is_weighed_as_the_nothing_that_it_is() -> None:
    with_edges, without = expression(engines(r"\b(?:a+\b)*")), expression("(?:a+)*")
    assert with_edges is not None
    assert without is not None
    assert states(with_edges) <= states(without) + 2


# --- what is shown ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("schema", "value", "said"),
    [
        pytest.param({"pattern": r'^"\bé'}, "x", r'"x" does not match "^"\bé"', id="of a text"),
        pytest.param(
            {"propertyNames": {"pattern": "[&]"}}, {"b": 1}, '"b" does not match "[&]"', id="a name"
        ),
        pytest.param(
            {"not": {"anyOf": [{"pattern": "[&]"}, {"patternProperties": {r"\b": False}}]}},
            "&",
            r'{"anyOf":[{"pattern":"[&]"},{"patternProperties":{"\\b":false}}]} is not allowed for "&"',
            id="in a piece of the schema",
        ),
    ],
)
def test_a_pattern_is_told_as_it_was_written(schema: Schema, value: object, said: str) -> None:
    (violation,) = violations(value, schema)  # type: ignore[arg-type]  # any JSON
    assert violation.message == said


@pytest.mark.parametrize(
    ("schema", "place"),
    [
        pytest.param(
            {"patternProperties": {r"\bé(": {}}}, r"/patternProperties/\bé(", id="it cannot be built"
        ),
        pytest.param(
            {"patternProperties": {r"\b": {"minLength": -1}}},
            r"/patternProperties/\b/minLength",
            id="below it",
        ),
    ],
)
def test_a_fault_of_a_schema_is_placed_by_patterns_as_written(schema: Schema, place: str) -> None:
    with pytest.raises(BadSchema) as refused:
        check_schema(schema)
    assert str(refused.value).startswith(f"{place}: ")


# --- patterns of names ------------------------------------------------------------------------------------


def test_names_go_by_their_patterns_and_two_that_come_to_be_alike_both_hold() -> None:
    schema: Schema = {
        "patternProperties": {r"\bé": {"minimum": 1}, r"(?-u:\b)é": {"maximum": 3}},
        "additionalProperties": False,
    }
    check_schema(schema)
    assert violations({"aé": 2}, schema) == ()
    for wrong in ({"aé": 0}, {"aé": 4}, {"é": 2}):
        assert violations(wrong, schema)


def test_a_reference_leads_to_what_stands_under_a_pattern() -> None:
    schema: Schema = {
        "patternProperties": {"^[/~&]": {"type": "integer"}},
        "properties": {"a": {"$ref": "#/patternProperties/%5E%5B~1~0&%5D"}},
    }
    check_schema(schema)
    assert violations({"a": 1, "&": 1}, schema) == ()
    assert [violation.path for violation in violations({"a": "x", "/": "x"}, schema)] == ["/a", "/~1"]


def test_what_is_data_is_no_pattern() -> None:
    schema: Schema = {"const": {"pattern": r"\b"}, "properties": {"pattern": {"const": r"\b"}}}
    assert violations({"pattern": r"\b"}, schema) == ()


def test_two_patterns_that_mean_the_same_are_each_led_to() -> None:
    schema: Schema = {
        "patternProperties": {"[&]": {"type": "integer"}, r"[\&]": {"maximum": 3}},
        "properties": {"q": {"$ref": "#/patternProperties/%5B%5C%26%5D"}},
    }
    check_schema(schema)
    assert violations({"q": "x"}, schema) == ()
    assert [each.message for each in violations({"q": 9}, schema)] == ["9 is greater than the maximum of 3"]
    assert [each.message for each in violations({"&": "x"}, schema)] == ['"x" is not of type "integer"']
    assert [each.message for each in violations({"&": 9}, schema)] == ["9 is greater than the maximum of 3"]


def test_words_that_tell_a_pattern_apart_are_no_other_pattern() -> None:
    """Whatever the order: the third is what the second would be told as."""
    rules = {"^[&]$": {"type": "integer"}, r"^[\&]$": {"maximum": 3}, r"^[&]$(?:){1}": {"minimum": 1}}
    for order in permutations(rules):
        schema: Schema = {"patternProperties": {pattern: rules[pattern] for pattern in order}}
        check_schema(schema)
        assert len(worded(schema).schema["patternProperties"]) == 3
        assert violations({"&": 2}, schema) == ()
        assert [len(violations({"&": wrong}, schema)) for wrong in ("x", 9, 0)] == [1, 1, 1]


def test_what_tells_a_pattern_apart_adds_nothing_to_it() -> None:
    told = worded({"patternProperties": {"[&]": {}, r"[\&]": {}, "a": {}}})
    first, second, _ = told.schema["patternProperties"]
    assert (first, second) == (r"[\&]", r"[\&](?:){1}")
    assert told.written == {first: "[&]", second: r"[\&]"}


@pytest.mark.timeout(20)
@pytest.mark.parametrize("before", ["", "[", "[^"])
@pytest.mark.parametrize("begun", ["[", r"\p{", r"\P{", r"\u{", r"\p{a", r"[\u{"])
def test_what_is_without_an_end_is_looked_for_once(before: str, begun: str) -> None:
    """From each place anew, it would take minutes."""
    pattern = before + begun * (480_000 // len(begun))
    assert engines(pattern) == pattern
    assert engines(f"{pattern}]").endswith("]")
    assert expression(f"{pattern}(") is None


@pytest.mark.timeout(20)
def test_very_many_patterns_that_mean_the_same_are_told_apart_at_once() -> None:
    spelled = ("".join(each) for each in product(("&", r"\&"), repeat=11))
    schema: Schema = {"patternProperties": {f"[{pattern}]": {"minimum": 1} for pattern in spelled}}
    told = worded(schema)
    assert len(told.schema["patternProperties"]) == 2_048
    assert {*told.written.values()} | {*told.schema["patternProperties"]} >= {*schema["patternProperties"]}
