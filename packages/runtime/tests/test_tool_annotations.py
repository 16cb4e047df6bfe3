"""What a signature says is what the function gets, at every depth, whenever its hints are evaluated."""

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from packages.runtime.tests.tool_types import CASES, Case
from psych_runtime.tools.problem import Problem
from psych_runtime.tools.registered import RegisteredTool
from psych_runtime.tools.registry import ToolRegistry
from psych_runtime_core.jsonvalue import thaw
from psych_runtime_core.schema import check_schema, violations

MODULE = """
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Optional, Union
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypedDict

from packages.runtime.tests.tool_types import *

@dataclass
class Holder:
    inside: {hint}

class Model(BaseModel):
    model_config = ConfigDict(extra="forbid", val_json_bytes="base64")
    inside: {hint}

class Entry(NamedTuple):
    inside: {hint}

class Record(TypedDict):
    inside: {hint}

def tool(
    alone: {hint},
    in_a_list: list[{hint}],
    in_a_dict: dict[str, {hint}],
    in_a_tuple: tuple[int, {hint}],
    in_a_union: Union[{hint}, Literal['<none>']],
    in_a_dataclass: Holder,
    in_a_named_tuple: Entry,
    in_a_typed_dict: Record,
    in_a_model: Model,
):
    "A tool."
    return locals()
"""
# How a value stands inside each parameter: in JSON, and in what the function gets.
SENT: dict[str, Callable[[Any], Any]] = {
    "alone": lambda it: it,
    "in_a_list": lambda it: [it],
    "in_a_dict": lambda it: {"inside": it},
    "in_a_tuple": lambda it: [1, it],
    "in_a_union": lambda it: it,
    "in_a_dataclass": lambda it: {"inside": it},
    "in_a_named_tuple": lambda it: [it],
    "in_a_typed_dict": lambda it: {"inside": it},
    "in_a_model": lambda it: {"inside": it},
}
GOT: dict[str, Callable[[Any], Any]] = {
    "alone": lambda it: it,
    "in_a_list": lambda it: it[0],
    "in_a_dict": lambda it: it["inside"],
    "in_a_tuple": lambda it: it[1],
    "in_a_union": lambda it: it,
    "in_a_dataclass": lambda it: it.inside,
    "in_a_named_tuple": lambda it: it.inside,
    "in_a_typed_dict": lambda it: it["inside"],
    "in_a_model": lambda it: it.inside,
}
ALL = [pytest.param(case, id=f"{case.hint} of {case.sent}") for case in CASES]
REFUSING = [pytest.param(case, id=f"{case.hint} of {case.refused}") for case in CASES if case.refuses]


def registered(case: Case, monkeypatch: pytest.MonkeyPatch, header: str = "") -> RegisteredTool:
    """The tool of a module of its own that takes such a value in every place."""
    module = ModuleType("made_for_a_test")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    source = header + MODULE.format(hint=case.hint)
    exec(compile(source, module.__name__, "exec", dont_inherit=True), module.__dict__)
    registry = ToolRegistry()
    registry.register(module.tool)
    return registry.require("tool")


def sent(value: Any) -> dict[str, Any]:
    return {name: place(value) for name, place in SENT.items()}


@pytest.mark.parametrize(
    "header",
    [pytest.param("", id="at once"), pytest.param("from __future__ import annotations", id="postponed")],
)
@pytest.mark.parametrize("case", ALL)
def test_a_value_arrives_as_its_type(case: Case, header: str, monkeypatch: pytest.MonkeyPatch) -> None:
    values = registered(case, monkeypatch, header).validate(sent(case.sent))
    assert not isinstance(values, Problem)
    got: dict[str, object] = {name: place(values[name]) for name, place in GOT.items()}
    assert got == dict.fromkeys(SENT, case.got)
    assert {type(value).__name__ for value in got.values()} == {type(case.got).__name__}


@pytest.mark.parametrize("case", ALL)
def test_the_schema_takes_what_the_function_takes(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    schema = registered(case, monkeypatch).parameters
    check_schema(schema, object_root=True)
    assert violations(sent(case.sent), schema) == ()


@pytest.mark.parametrize("case", REFUSING)
def test_schema_and_function_refuse_the_same_in_every_place(
    case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = registered(case, monkeypatch)
    for name, place in SENT.items():
        wrong = {**sent(case.sent), name: place(case.refused)}
        problem = tool.validate(wrong)
        assert isinstance(problem, Problem), name
        assert {fault.path.split("/")[1] for fault in problem.faults} == {name}
        assert {fault.path.split("/")[1] for fault in violations(wrong, tool.parameters)} == {name}


@pytest.mark.parametrize("case", ALL)
def test_a_schema_is_closed_in_order_and_has_no_titles(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    schema = thaw(registered(case, monkeypatch).parameters)
    assert schema["type"] == "object"
    assert schema["additionalProperties"] is False
    assert list(schema["properties"]) == schema["required"] == list(SENT)
    assert "'title'" not in str(schema)
    assert "$schema" not in schema
