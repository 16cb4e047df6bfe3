"""Weighing is bounded: by no value, and by no schema, does it take more than the budgets that it has."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from psych_runtime_core.errors import BadSchema
from psych_runtime_core.schema import check_schema, expression, met, reading, states, violations
from psych_runtime_core.schema.asked import Asking
from psych_runtime_core.schema.budget import Budget
from psych_runtime_core.schema.patterns import measured
from psych_runtime_core.schema.survey import Survey

Schema = dict[str, Any]


def optional(letters: int, count: int) -> list[Schema]:
    """Patterns that take a text at many places, and that no two of are alike."""
    return [{"pattern": f"^(?:{'a?' * letters}{index:05d})"} for index in range(count)]


def nested(depth: int, letters: int, first: str) -> str:
    return "^" + ("(?:" + f"{first}?" * letters) * depth + "b" + ")+" * depth


MANY = optional(22, 800)
DEEP: list[Schema] = [{"pattern": nested(70, 25, first)} for first in "acdefghijklm"]
NAMES: list[Schema] = [{"pattern": f"^[a-z0-9]+{index:03d}?"} for index in range(400)]
OVERFLOWING = "(?:" + "(?:" * 45 + "a?" + "){4000000000}" * 45 + "){0}"
BUSY = "[01]*1[01]{200}[2-9]"


class Work:
    """What weighing takes: the parts looked at, and the steps taken along a value."""

    def __init__(self) -> None:
        self.parts = 0
        self.steps: list[Budget] = []

    @contextmanager
    def counted(self) -> Generator[Work]:
        def states_of(parts: Any, *length: int) -> int:
            self.parts += len(parts)
            return states.states(parts, *length)

        def budget(left: int) -> Budget:
            self.steps.append(Budget(left))
            return self.steps[-1]

        with patch.object(reading, "states", states_of), patch.object(met, "Budget", budget):
            yield self


@pytest.mark.parametrize(
    ("schema", "value", "is_told"),
    [
        pytest.param({"items": {"allOf": MANY}}, ["a" * (16 + index % 16) for index in range(62)], True,
                     id="many patterns for each item"),
        pytest.param({"allOf": DEEP}, "x" * 2_000, True, id="deep ones for one text"),
        pytest.param({"propertyNames": {"allOf": NAMES}}, {f"n{index:06d}": 0 for index in range(20_000)},
                     True, id="many patterns for each name"),
        pytest.param({"propertyNames": {"allOf": MANY}},
                     {f"{index:04d}{'a' * (13 + index % 16)}": 0 for index in range(120)}, True,
                     id="dear ones for each name"),
        pytest.param({"patternProperties": {each["pattern"]: True for each in MANY[:300]}},
                     {f"{'a' * (13 + index % 16)}{index}": 0 for index in range(4_000)}, True,
                     id="names by many patterns"),
        pytest.param({"pattern": OVERFLOWING}, "x" * 100_000, False, id="counts that multiply, no times"),
        pytest.param({"propertyNames": {"$ref": "#"}, "pattern": BUSY}, {"01" * 99_999: {"2": 1}}, True,
                     id="names of names without end"),
    ],
)  # fmt: skip
def test_a_pattern_is_looked_into_once_whatever_is_judged(schema: Schema, value: Any, is_told: bool) -> None:
    with Work().counted() as work:
        check_schema(schema)
        checked = work.parts
        assert 0 < checked <= reading.MAX_LOOKED_AT
        violations(None, schema)
        assert work.parts == 2 * checked
        found = violations(value, schema)
        assert work.parts == 2 * checked
    assert any(each.message.startswith("takes too long to judge") for each in found) is is_told
    assert len(work.steps) == (2 if is_told else 0)


# --- what any schema and any value come to ----------------------------------------------------------------

_ATOMS = st.sampled_from(["a", "b", "[ab]", r"\w", ".", "^", "$", r"\b"])
_COUNTS = st.sampled_from(["", "?", "*", "+", "{3}", "{0,40}", "{2,}", "{0}", "{900}", "{4000000000}"])
_PATTERNS = st.recursive(
    st.builds(str.__add__, _ATOMS, _COUNTS),
    lambda inner: st.builds(
        "(?:{}){}".format, st.lists(inner, min_size=1, max_size=6).map("".join), _COUNTS
    ) | st.lists(inner, min_size=1, max_size=3).map("|".join),
    max_leaves=8,
)  # fmt: skip


def _reading(pattern: str) -> Schema:
    return {"pattern": pattern}


def _places(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Schema]:
    several = st.lists(inner, min_size=1, max_size=6)
    one = ["items", "additionalProperties", "propertyNames", "not", "contains", "unevaluatedProperties"]
    return st.fixed_dictionaries(
        {},
        optional={
            **dict.fromkeys(one, inner),
            **dict.fromkeys(["allOf", "anyOf", "prefixItems"], several),
            "patternProperties": st.dictionaries(_PATTERNS, inner, max_size=6),
            "properties": st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
        },
    )


_REFERENCES: st.SearchStrategy[Schema] = st.sampled_from(
    [{"items": {"$ref": "#"}}, {"propertyNames": {"$ref": "#"}}, {"enum": [0.5, [1]]}]
)
_SCHEMAS = st.recursive(st.builds(_reading, _PATTERNS) | _REFERENCES, _places, max_leaves=8)
_TEXTS = st.builds(str.__mul__, st.sampled_from(["a", "ab", "01", "é"]), st.integers(0, 60))


def _ten_times(items: list[Any]) -> list[Any]:
    return items * 10


def _named(name: str, item: Any) -> dict[str, Any]:
    return {f"{name}{index}": item for index in range(40)}


_VALUES = st.recursive(
    _TEXTS | st.sampled_from([1, 0.5, 10**30, None]),
    lambda inner: st.lists(inner, max_size=6).map(_ten_times) | st.builds(_named, _TEXTS, inner),
    max_leaves=8,
)
# What a step, a part or a schema takes at most, in lines of the code.
_LINES = 40
_FEW_STEPS = 50


def lines_run(work: Callable[[], object]) -> int:
    """The lines of the weighing code that `work` runs: a loop that nothing counts would show."""
    run = 0
    modules = {each.__file__ for each in map(sys.modules.get, _WEIGHING) if each is not None}

    def trace(frame: FrameType, event: str, _argument: object) -> Any:
        nonlocal run
        run += event == "line"
        return trace if frame.f_code.co_filename in modules else None

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return run


_WEIGHING = [
    f"psych_runtime_core.schema.{name}" for name in ("met", "meeting", "reading", "states", "budget", "asked")
]


def weighs_within_its_budgets(schema: Schema, value: Any) -> bool:
    """Whether weighing runs no more lines than it has steps for, of which it has few."""
    sizes = measured(schema).sizes
    with patch.object(met, "MAX_STEPS", _FEW_STEPS), patch.object(reading, "MAX_LOOKED_AT", _FEW_STEPS):
        patterns = lines_run(lambda: reading.weighed(sizes))
        survey = Survey(schema, reading.weighed(sizes))
        asking = Asking(survey)
        for each in survey.whole.order:
            asking.of(id(each))
        along = lines_run(lambda: met.met(asking, value, 10**30))
    return patterns <= _LINES * (_FEW_STEPS + len(sizes)) and along <= _LINES * _FEW_STEPS


@given(schema=_SCHEMAS, value=_VALUES)
def test_weighing_runs_no_more_than_its_budgets_allow(schema: Schema, value: Any) -> None:
    with suppress(ValueError):
        assert weighs_within_its_budgets(schema, value)


ANY: list[Schema] = [{"minLength": index} for index in range(1_000)]


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        pytest.param({"allOf": ANY}, "a", id="many for one text"),
        pytest.param({"items": {"allOf": ANY}}, ["a"], id="for an item"),
        pytest.param({"items": {"anyOf": ANY}}, ["a"] * 1_000, id="for many items"),
        pytest.param({"properties": {f"a{index}": ANY[index] for index in range(1_000)}},
                     {f"a{index}": "a" for index in range(1_000)}, id="each for one member"),
        pytest.param({"patternProperties": {f"a{index}": ANY[0] for index in range(1_000)}}, {"a": 1},
                     id="for a member of any name"),
        pytest.param({"patternProperties": {f"a{index}": True for index in range(1_000)}},
                     {f"{index}": 1 for index in range(1_000)}, id="for many names"),
        pytest.param({"propertyNames": {"allOf": ANY}}, {"a": 1}, id="for a name"),
        pytest.param({"allOf": [{"items": {"$ref": "#"}}, {"items": {"$ref": "#"}}]}, [[[[["a"] * 200]]]],
                     id="ways that multiply"),
        pytest.param({"allOf": [{"pattern": BUSY}], "unevaluatedItems": {"$ref": "#"}}, [["a"] * 500] * 9,
                     id="what is left over"),
    ],
)  # fmt: skip
def test_no_loop_goes_on_when_the_budget_is_spent(schema: Schema, value: Any) -> None:
    assert weighs_within_its_budgets(schema, value)


@given(schema=_SCHEMAS, value=_VALUES)
def test_no_schema_and_no_value_ends_in_an_error_of_another_kind(schema: Schema, value: Any) -> None:
    with suppress(BadSchema):
        check_schema(schema)
    assert len(violations(value, schema)) <= 20


@given(_PATTERNS)
def test_what_is_made_of_a_pattern_is_no_longer_than_it(pattern: str) -> None:
    parts = expression.expression(pattern)
    assert parts is not None
    assert len(parts) <= len(pattern) + 2
    assert all(max(part.of, default=-1) < index for index, part in enumerate(parts))
    assert states.states(parts) >= 1
