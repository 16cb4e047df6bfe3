"""One Spec, one canonical form, one hash; and a Version proves its own."""

import json
import random
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, timezone
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from packages.core.tests.specs import SMALL, small, spec_documents
from psych_runtime_core.errors import SpecValidationError
from psych_runtime_core.ids import VersionHash
from psych_runtime_core.jsonvalue import Json, decode_json
from psych_runtime_core.spec.agent import AgentSpec
from psych_runtime_core.spec.base import SpecModel
from psych_runtime_core.spec.document import read_spec
from psych_runtime_core.spec.http_tool import HttpTool
from psych_runtime_core.spec.limits import Limits
from psych_runtime_core.spec.model import ModelRef
from psych_runtime_core.spec.policies import SuspensionPolicy
from psych_runtime_core.spec.tools import CodeTool
from psych_runtime_core.version import (
    MAX_SPEC_BYTES,
    SCHEMES,
    Version,
    canonical_bytes,
    checked,
    compute_hash,
)

NOW = datetime(2026, 7, 28, 12, 0, 0, 123_456, UTC)


def refused(error: pytest.ExceptionInfo[SpecValidationError]) -> list[tuple[str, str]]:
    return [(issue.code, issue.path) for issue in error.value.issues]


# --- the canonical form ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "written"),
    [
        pytest.param({}, {}, id="required fields and kinds alone"),
        pytest.param({"description": "", "tools": [], "limits": {}}, {}, id="stated defaults are left out"),
        pytest.param(
            {"limits": {"max_turns": 32, "max_steps": 1}}, {"limits": {"max_steps": 1}}, id="within"
        ),
        pytest.param({"limits": {"deadline_seconds": 900}}, {}, id="a default in another type of number"),
        pytest.param({"limits": {"deadline_seconds": 60.0}}, {"limits": {"deadline_seconds": 60}}, id="int"),
        pytest.param({"tools": [{"name": "t"}]}, {"tools": [{"kind": "code", "name": "t"}]}, id="a kind"),
        pytest.param({"input_schema": {}}, {"input_schema": {}}, id="present where the default is absent"),
        pytest.param({"description": "a\r\n/é"}, {"description": "a\n/é"}, id="text"),
    ],
)
def test_the_canonical_form_says_what_differs_from_the_defaults(
    fields: dict[str, Any], written: dict[str, Any]
) -> None:
    body = canonical_bytes(small(**fields))
    assert json.loads(body) == {**SMALL, **written}
    assert (
        body
        == json.dumps(
            {**SMALL, **written}, ensure_ascii=False, sort_keys=True, separators=(",", ":")
        ).encode()
    )


def shuffled(value: Json, chance: random.Random) -> Any:
    """`value` with its keys in another order."""
    if isinstance(value, Mapping):
        items = [(key, shuffled(item, chance)) for key, item in value.items()]
        return dict(chance.sample(items, len(items)))
    return [shuffled(item, chance) for item in value] if isinstance(value, list) else value


@given(spec_documents(), st.randoms(use_true_random=False))
def test_order_that_says_nothing_keeps_the_hash(document: dict[str, Any], chance: random.Random) -> None:
    spec = read_spec(document)
    mixed = shuffled(document, chance)
    chance.shuffle(mixed["tools"])
    assert read_spec(mixed) == spec
    assert hash(read_spec(mixed)) == hash(spec)
    assert compute_hash(read_spec(mixed)) == compute_hash(spec)


@given(spec_documents())
def test_every_way_to_build_a_spec_gives_one_hash(document: dict[str, Any]) -> None:
    spec = read_spec(document)
    version = Version.of(spec)
    ways = [
        read_spec(spec.model_dump(mode="json")),
        read_spec(json.loads(canonical_bytes(spec))),
        AgentSpec.model_validate_json(spec.model_dump_json()),
        AgentSpec(**{name: getattr(spec, name) for name in AgentSpec.model_fields}),
        Version.decode(version.encode()).spec,
        Version.import_json(version.export_json()).spec,
        Version.import_json(version.export_json(defaults=True)).spec,
        checked(spec).spec,
    ]
    assert all(way == spec and compute_hash(way) == version.hash for way in ways)


HTTP: dict[str, Any] = {"kind": "http", "name": "t", "description": "d", "url": "https://a.example/b"}
HTTP_CHANGES: list[dict[str, Any]] = [
    {},
    {"name": "u"},
    {"description": "d "},
    {"url": "https://a.example/{b}"},
    {"method": "GET"},
    {"input_schema": {"type": "object"}},
    {"query": ["a", "b"]},
    {"query": ["b", "a"]},
    {"headers": {"a": "x"}},
    {"headers": {"A": "x"}},
    {"headers": {"a": "x "}},
    {"credential": "c"},
    {"credential_header": "x-auth"},
    {"credential_scheme": ""},
    {"idempotency_header": "idempotency-key"},
    {"annotations": ["write"]},
    {"annotations": ["write", "destructive"]},
    {"safe_to_retry": False},
    {"safe_to_retry": True},
    {"timeout_seconds": 1},
    {"interruptible": False},
]
CHANGES: list[dict[str, Any]] = [
    {"name": "other"},
    {"description": "other"},
    {"description": "small "},
    {"instructions": "other"},
    {"model": {"model": "other"}},
    {"model": {"model": "m", "fallbacks": ["x", "y"]}},
    {"model": {"model": "m", "fallbacks": ["y", "x"]}},
    {"model": {"model": "m", "temperature": 0}},
    {"model": {"model": "m", "top_p": 1}},
    {"model": {"model": "m", "max_output_tokens": 1}},
    {"model": {"model": "m", "reasoning_effort": "low"}},
    {"model": {"model": "m", "tool_choice": "none"}},
    {"model": {"model": "m", "parallel_tool_calls": False}},
    {"model": {"model": "m", "output_mode": "tool"}},
    {"model": {"model": "m", "prompt_cache": "off"}},
    {"model": {"model": "m", "accepts": ["image"]}},
    {"model": {"model": "m", "stop": ["a", "b"]}},
    {"model": {"model": "m", "stop": ["b", "a"]}},
    {"model": {"model": "m", "options": {"a": 1}}},
    {"model": {"model": "m", "options": {"a": True}}},
    {"model": {"model": "m", "options": {"a": "\u00e9"}}},
    {"model": {"model": "m", "options": {"a": "e\u0301"}}},
    {"tools": [{"name": "t"}]},
    {"tools": [{"name": "t", "interruptible": False}]},
    {"tools": [{"name": "t", "timeout_seconds": 1}]},
    *({"tools": [{**HTTP, **change}]} for change in HTTP_CHANGES),
    *({"limits": {name: 5}} for name in Limits.model_fields),
    {"suspension": {"approval_expires_seconds": 1}},
    {"input_schema": {}},
    {"input_schema": {"type": "object"}},
    {"output_schema": {}},
]


def test_every_single_change_moves_the_hash() -> None:
    hashes = [compute_hash(small(**change)) for change in ({}, *CHANGES)]
    assert len(set(hashes)) == len(hashes)


@pytest.mark.parametrize("model", [AgentSpec, ModelRef, CodeTool, HttpTool, Limits, SuspensionPolicy])
def test_every_field_is_among_those_changes(model: type[SpecModel]) -> None:
    assert not [name for name in model.model_fields if name != "kind" and f"'{name}'" not in str(CHANGES)]


def test_the_newest_scheme_is_sha256_over_form_1() -> None:
    assert compute_hash(small()).startswith("sha256:")
    assert list(SCHEMES) == ["sha256"]
    assert SCHEMES["sha256"].hash(small()) == compute_hash(small())


# --- a Version -------------------------------------------------------------------------------------------


def test_a_version_holds_its_spec_and_knows_its_hash() -> None:
    version = Version.of(small())
    assert (version.name, version.published_at) == ("small", None)
    assert version.verify()
    assert version == Version(version.hash, small())
    assert hash(version) == hash(Version(version.hash, small()))


@pytest.mark.parametrize("wrong", ["sha256:" + "0" * 64, "md5:" + "0" * 32, "", "sha256"])
def test_a_version_refuses_another_hash(wrong: str) -> None:
    with pytest.raises(SpecValidationError) as error:
        Version(VersionHash(wrong), small())
    assert refused(error) == [("hash_mismatch", "/hash")]


def test_a_spec_changed_behind_its_version_is_noticed() -> None:
    version = Version.of(small())
    object.__setattr__(version.spec.limits, "max_turns", 7)
    assert not version.verify()


def test_a_naive_instant_is_refused() -> None:
    with pytest.raises(ValueError, match="aware"):
        Version(compute_hash(small()), small(), datetime(2026, 1, 1))  # noqa: DTZ001 - what is refused


def test_what_a_store_keeps_is_one_canonical_line() -> None:
    east = NOW.astimezone(timezone(timedelta(hours=2)))
    version = Version(compute_hash(small()), small(), east)
    assert version.encode() == (
        b'{"format":1,"hash":"%b","published_at":"2026-07-28T12:00:00.123456Z","spec":%b}'
        % (version.hash.encode(), canonical_bytes(small()))
    )
    assert Version.decode(version.encode()) == version
    assert Version.decode(Version.of(small()).encode()).published_at is None


def test_an_export_is_sorted_indented_text_and_may_state_every_field() -> None:
    version = Version(compute_hash(small()), small(), NOW)
    assert version.export_json() == json.dumps(
        {
            "format": 1,
            "hash": version.hash,
            "published_at": "2026-07-28T12:00:00.123456Z",
            "spec": {"kind": "agent", "model": {"model": "m"}, "name": "small"},
        },
        indent=2,
    ) + "\n"  # fmt: skip
    stated = decode_json(version.export_json(defaults=True))["spec"]
    assert set(stated) == set(AgentSpec.model_fields)
    assert set(stated["limits"]) == set(Limits.model_fields)


def test_only_an_import_does_without_a_hash() -> None:
    document = decode_json(Version.of(small()).encode())
    del document["hash"]
    assert Version.import_json(json.dumps(document)) == Version.of(small())
    with pytest.raises(SpecValidationError) as error:
        Version.decode(json.dumps(document).encode())
    assert refused(error) == [("missing", "/hash")]


@pytest.mark.parametrize(
    ("document", "code", "path"),
    [
        pytest.param(b"", "bad_syntax", "", id="nothing"),
        pytest.param(b"{", "bad_syntax", "", id="half"),
        pytest.param(b"\xff", "bad_syntax", "", id="no UTF-8"),
        pytest.param(b'{"a":1,"a":1}', "bad_syntax", "", id="a key twice"),
        pytest.param(b"[" * 100_000, "bad_syntax", "", id="endless nesting"),
        pytest.param(b'{"a":NaN}', "bad_syntax", "", id="NaN"),
        pytest.param(b"[]", "wrong_type", "", id="no object"),
        pytest.param({"format": 2}, "out_of_bounds", "/format", id="a newer format"),
        pytest.param({"format": True}, "wrong_type", "/format", id="a format that is none"),
        pytest.param({"hash": 3}, "wrong_type", "/hash", id="a hash that is none"),
        pytest.param({"hash": "sha256:" + "0" * 64}, "hash_mismatch", "/hash", id="another hash"),
        pytest.param({"published_at": "yesterday"}, "out_of_bounds", "/published_at", id="an instant"),
        pytest.param({"published_at": "2026-01-01T00:00:00"}, "out_of_bounds", "/published_at", id="naive"),
        pytest.param({"spec": {**SMALL, "name": "x y"}}, "bad_name", "/spec/name", id="a wrong Spec"),
        pytest.param({"spec": {**SMALL, "later": 1}}, "unknown_field", "/spec/later", id="a newer Spec"),
        pytest.param({"spec": {**SMALL, "name": "other"}}, "hash_mismatch", "/hash", id="another Spec"),
        pytest.param({"extra": 1}, "unknown_field", "/extra", id="an unknown part"),
    ],
)
def test_a_document_that_is_no_version_is_refused(
    document: bytes | dict[str, Any], code: str, path: str
) -> None:
    if isinstance(document, dict):
        document = json.dumps({**decode_json(Version.of(small()).encode()), **document}).encode()
    with pytest.raises(SpecValidationError) as decoded:
        Version.decode(document)
    with pytest.raises(SpecValidationError) as imported:
        Version.import_json(document)
    assert refused(decoded) == refused(imported) == [(code, path)]


def test_a_flipped_bit_in_the_hash_or_the_spec_is_found() -> None:
    spec = small(tools=[{"name": "t", "timeout_seconds": 2.5}], model={"model": "m", "options": {"a": [1]}})
    body = Version.of(spec).encode()
    for position in range(body.index(b'"hash"'), len(body)):
        if body.index(b'"published_at"') <= position < body.index(b'"spec"'):
            continue
        for bit in range(8):
            flipped = bytearray(body)
            flipped[position] ^= 1 << bit
            with pytest.raises(SpecValidationError):
                Version.decode(bytes(flipped))


# --- Specs made around validation ------------------------------------------------------------------------


def test_a_checked_spec_is_the_version_of_an_equal_one() -> None:
    assert checked(small()) == Version.of(small())


def test_a_spec_is_checked_whatever_the_depth_of_what_it_holds() -> None:
    options: dict[str, Any] = {}
    for _ in range(127):
        options = {"deeper": options}
    spec = small(model={"model": "m", "options": options})
    assert checked(spec).spec == spec


def made_around_validation(**fields: Any) -> AgentSpec:
    made: Any = AgentSpec.model_construct
    return cast(AgentSpec, made(**fields))


@pytest.mark.parametrize(
    ("fields", "code", "path"),
    [
        pytest.param({"name": "x y"}, "bad_name", "/name", id="a name"),
        pytest.param({"tools": (len,)}, "callable", "/tools/0", id="a callable"),
        pytest.param({"tools": ({1},)}, "not_json", "/tools/0", id="no JSON"),
        pytest.param({"limits": {"max_turns": float("nan")}}, "not_json", "/limits/max_turns", id="NaN"),
        pytest.param({"description": "\ud800"}, "bad_text", "/description", id="a lone surrogate"),
        pytest.param({"limits": {"max_turns": 0}}, "out_of_bounds", "/limits/max_turns", id="a bound"),
        pytest.param({"limits": {"max_turns": 32}}, "hash_mismatch", "", id="a form that is not canonical"),
        pytest.param({"model": None}, "wrong_type", "/model", id="a part that is None"),
        pytest.param({"description": "a\r\n"}, "hash_mismatch", "", id="a line ending"),
    ],
)
def test_a_spec_made_around_validation_is_refused(fields: dict[str, Any], code: str, path: str) -> None:
    with pytest.raises(SpecValidationError) as error:
        checked(made_around_validation(**{"name": "n", "model": ModelRef(model="m"), **fields}))
    assert refused(error) == [(code, path)]


def test_a_spec_that_lacks_fields_is_refused() -> None:
    with pytest.raises(SpecValidationError) as error:
        checked(made_around_validation())
    assert refused(error) == [("missing", "/name"), ("missing", "/model")]


def test_a_spec_written_into_around_validation_is_refused() -> None:
    spec = small()
    object.__setattr__(spec.limits, "max_turns", 10_001)
    with pytest.raises(SpecValidationError) as error:
        checked(spec)
    assert refused(error) == [("out_of_bounds", "/limits/max_turns")]


@pytest.mark.parametrize("over", [0, 1])
def test_a_canonical_form_has_at_most_4_mebibytes(over: int) -> None:
    room = MAX_SPEC_BYTES - len(canonical_bytes(small(model={"model": "m", "options": {"a": "x"}})))
    spec = small(model={"model": "m", "options": {"a": "x" * (room + 1 + over)}})
    if not over:
        assert len(canonical_bytes(checked(spec).spec)) == MAX_SPEC_BYTES
        return
    with pytest.raises(SpecValidationError) as error:
        checked(spec)
    assert refused(error) == [("too_large", "")]
