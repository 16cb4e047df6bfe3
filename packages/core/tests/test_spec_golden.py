"""What is released stays: hashes of stored Specs, fields, defaults, and bounds."""

import json
import os
import subprocess
import sys
from pathlib import Path
from types import GenericAlias
from typing import Any

import pytest
from pydantic import BaseModel, create_model

from psych_runtime_core.jsonvalue import decode_json, encode_json
from psych_runtime_core.spec.agent import AgentSpec
from psych_runtime_core.spec.document import read_spec, spec_json_schema
from psych_runtime_core.spec.http_tool import HttpTool
from psych_runtime_core.spec.limits import Limits
from psych_runtime_core.spec.model import ModelRef
from psych_runtime_core.spec.policies import SuspensionPolicy
from psych_runtime_core.spec.tools import CodeTool
from psych_runtime_core.version import canonical_bytes, compute_hash

GOLDEN = Path(__file__).parent / "golden"
STORED: list[dict[str, Any]] = json.loads((GOLDEN / "spec-hashes.json").read_text())
FIELDS: dict[str, dict[str, dict[str, Any]]] = json.loads((GOLDEN / "spec-fields.json").read_text())
MODELS: dict[str, type[BaseModel]] = {
    model.__name__: model for model in (AgentSpec, ModelRef, CodeTool, HttpTool, Limits, SuspensionPolicy)
}
stored = pytest.mark.parametrize("entry", [pytest.param(entry, id=entry["title"]) for entry in STORED])


# --- hashes ----------------------------------------------------------------------------------------------


@stored
def test_a_stored_spec_keeps_its_hash(entry: dict[str, Any]) -> None:
    assert compute_hash(read_spec(entry["spec"])) == entry["hash"]


@stored
def test_windows_line_endings_keep_the_hash(entry: dict[str, Any]) -> None:
    spec = entry["spec"]
    prose = {
        name: spec[name].replace("\n", "\r\n") for name in ("description", "instructions") if name in spec
    }
    assert compute_hash(read_spec({**spec, **prose})) == entry["hash"]


@pytest.mark.parametrize("seed", ["0", "1", "4294967295"])
def test_hashes_do_not_depend_on_the_seed_of_the_process(seed: str) -> None:
    program = (
        "import json, sys\n"
        "from psych_runtime_core.spec.document import read_spec\n"
        "from psych_runtime_core.version import compute_hash\n"
        "print(json.dumps([compute_hash(read_spec(entry['spec'])) for entry in json.load(sys.stdin)]))\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program],
        input=json.dumps(STORED),
        env={**os.environ, "PYTHONHASHSEED": seed},
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(ran.stdout) == [entry["hash"] for entry in STORED]


def test_stored_specs_have_as_many_hashes() -> None:
    assert len({entry["hash"] for entry in STORED}) == len(STORED) >= 12


def grown(released: type[BaseModel], **fields: Any) -> Any:
    """`released` in a release where it has one more field, with a default."""
    return create_model(released.__name__, __base__=released, later=(int, 7), **fields)


def next_release() -> Any:
    """`AgentSpec` where it and each model in it has grown."""
    limits, suspension = grown(Limits), grown(SuspensionPolicy)
    return grown(
        AgentSpec,
        model=(grown(ModelRef), ...),
        limits=(limits, limits()),
        suspension=(suspension, suspension()),
        tools=(GenericAlias(tuple, (grown(CodeTool) | grown(HttpTool), ...)), ()),
    )


@stored
def test_a_release_with_more_fields_keeps_every_hash(entry: dict[str, Any]) -> None:
    spec = entry["spec"]
    by_name = sorted(spec.get("tools", []), key=lambda tool: tool["name"])
    newer = next_release().model_validate({**spec, "tools": tuple(by_name)})
    assert canonical_bytes(newer) == canonical_bytes(read_spec(spec))


# --- fields ----------------------------------------------------------------------------------------------


def described() -> dict[str, dict[str, dict[str, Any]]]:
    """What every field of every model takes, as JSON Schema, and its default unless it is required."""
    schema = spec_json_schema()
    objects = {**schema["$defs"], "AgentSpec": schema}
    return {
        name: {
            field: {**takes(objects[name]["properties"][field]), **default_of(model, field)}
            for field in model.model_fields
        }
        for name, model in MODELS.items()
    }


def takes(schema: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in schema.items() if key not in {"title", "default"}}


def default_of(model: type[BaseModel], field: str) -> dict[str, Any]:
    info = model.model_fields[field]
    if info.is_required():
        return {}
    default = info.get_default(call_default_factory=True)
    plain = default.model_dump() if isinstance(default, BaseModel) else default
    return {"default": decode_json(encode_json(plain))}


FLOORS = {"minimum", "exclusiveMinimum", "minLength", "minItems"}
CEILINGS = {"maximum", "exclusiveMaximum", "maxLength", "maxItems"}


def narrowed(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """The keys under which `new` takes less than `old` did."""
    dropped = [key for key in old.keys() - new.keys() if key not in FLOORS | CEILINGS | {"enum"}]
    added = [*(new.keys() - old.keys())]
    changed = [key for key in old.keys() & new.keys() if is_narrower(key, old[key], new[key])]
    return [key for key in (*dropped, *added, *changed) if key != "default"]


def is_narrower(key: str, old: Any, new: Any) -> bool:
    if key in FLOORS | CEILINGS:
        return bool(new > old if key in FLOORS else new < old)
    if key == "enum":
        return not set(old) <= set(new)
    if key == "anyOf":
        return len(new) < len(old) or any(map(narrowed, old, new))
    return bool(old != new)


@pytest.mark.parametrize(("model", "field"), [(model, field) for model in FIELDS for field in FIELDS[model]])
def test_a_released_field_keeps_its_default_and_takes_no_less(model: str, field: str) -> None:
    released, now = FIELDS[model][field], described()[model][field]
    assert ("default" in now) == ("default" in released)
    assert now.get("default") == released.get("default")
    assert not narrowed(released, now)


def test_every_field_stands_in_the_golden_file() -> None:
    assert {name: list(fields) for name, fields in described().items()} == {
        name: list(fields) for name, fields in FIELDS.items()
    }


def test_every_model_of_a_spec_is_described() -> None:
    assert {*spec_json_schema()["$defs"], "AgentSpec"} == set(MODELS)


@pytest.mark.parametrize(
    ("old", "new", "narrower"),
    [
        ({"maximum": 9}, {"maximum": 10}, False),
        ({"maximum": 9}, {"maximum": 8}, True),
        ({"minimum": 1}, {"minimum": 0}, False),
        ({"minimum": 1}, {"minimum": 2}, True),
        ({"maxLength": 4}, {}, False),
        ({}, {"maxLength": 4}, True),
        ({"enum": ["a"]}, {"enum": ["a", "b"]}, False),
        ({"enum": ["a", "b"]}, {"enum": ["a"]}, True),
        ({"type": "integer"}, {"type": "string"}, True),
        ({"anyOf": [{"maximum": 9}]}, {"anyOf": [{"maximum": 8}]}, True),
        ({"anyOf": [{"maximum": 9}]}, {"anyOf": [{"maximum": 9}, {"type": "null"}]}, False),
    ],
)
def test_a_narrowed_schema_is_noticed(old: dict[str, Any], new: dict[str, Any], narrower: bool) -> None:
    assert bool(narrowed(old, new)) is narrower
