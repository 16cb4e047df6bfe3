"""What each field of a Spec takes and refuses, under which code and at which place."""

from typing import Any

import pytest
from pydantic import ValidationError

from packages.core.tests.specs import SMALL, document, small
from packages.core.tests.test_jsonvalue import REFUSED
from psych_runtime_core.errors import SpecValidationError
from psych_runtime_core.jsonvalue import FrozenDict
from psych_runtime_core.spec.agent import AgentSpec
from psych_runtime_core.spec.document import read_spec
from psych_runtime_core.spec.issues import issues_from
from psych_runtime_core.spec.limits import Limits
from psych_runtime_core.spec.model import REQUEST_KEYS, ModelRef
from psych_runtime_core.spec.names import RESERVED_TOOL_NAMES
from psych_runtime_core.spec.tools import CodeTool


def refused(spec: object) -> list[tuple[str, str]]:
    """The code and place of each issue of a document."""
    with pytest.raises(SpecValidationError) as error:
        read_spec(spec)
    return [(issue.code, issue.path) for issue in error.value.issues]


def reach(spec: AgentSpec, path: str) -> Any:
    value: Any = spec
    for name in path.split("/"):
        value = getattr(value, name)
    return value


# --- bounds ----------------------------------------------------------------------------------------------

LEAST = 5e-324
# Field, the least it takes, the most it takes, the nearest below, the nearest above.
BOUNDS: list[tuple[str, Any, Any, Any, Any]] = [
    ("limits/max_steps", 1, 10_000, 0, 10_001),
    ("limits/max_turns", 1, 10_000, 0, 10_001),
    ("limits/max_tool_calls_per_turn", 1, 256, 0, 257),
    ("limits/deadline_seconds", LEAST, 86_400, 0, 86_400.1),
    ("limits/transient_retry_budget", 0, 100, -1, 101),
    ("limits/failure_streak_hard_stop", 3, 200, 2, 201),
    ("limits/repeat_call_hard_stop", 3, 200, 2, 201),
    ("limits/failure_streak_threshold", 1, 6, 0, 101),
    ("limits/repeat_call_threshold", 1, 6, 0, 101),
    ("limits/large_result_bytes", 1, 16_777_216, 0, 16_777_217),
    ("limits/stream_idle_seconds", 0, 3_600, -LEAST, 3_600.1),
    ("suspension/approval_expires_seconds", LEAST, 31_536_000, 0, 31_536_000.1),
    ("model/temperature", 0, 2, -LEAST, 2.1),
    ("model/top_p", LEAST, 1, 0, 1.1),
    ("model/max_output_tokens", 1, 10_000_000, 0, 10_000_001),
    ("model/model", "m", "m" * 256, "", "m" * 257),
    ("model/fallbacks", [], [f"f{n}" for n in range(8)], None, [f"f{n}" for n in range(9)]),
    ("model/stop", [], ["a"] * 4, None, ["a"] * 5),
    ("name", "n", "n" * 128, "", "n" * 129),
    ("description", "", "é" * 4_096, None, "x" * 4_097),
    ("instructions", "", "x" * 1_000_000, None, "x" * 1_000_001),
    ("tools", [], [{"name": f"t{n}"} for n in range(1_000)], None, [{"name": f"t{n}"} for n in range(1_001)]),
]
bounds = pytest.mark.parametrize(
    ("path", "least", "most", "below", "above"), [pytest.param(*row, id=row[0]) for row in BOUNDS]
)


@bounds
def test_a_field_takes_its_bounds(path: str, least: Any, most: Any, below: Any, above: Any) -> None:
    for value in (least, most):
        assert isinstance(read_spec(document(path, value)), AgentSpec)


@bounds
def test_a_field_refuses_what_is_past_its_bounds(
    path: str, least: Any, most: Any, below: Any, above: Any
) -> None:
    for value in (below, above):
        if value is not None:
            [(code, place)] = refused(document(path, value))
            assert (code in {"out_of_bounds", "bad_name"}, place) == (True, f"/{path}")


@pytest.mark.parametrize("length", [0, 65])
def test_a_stop_text_has_1_to_64_characters(length: int) -> None:
    assert refused(document("model/stop", ["x" * 64, "x" * length])) == [("out_of_bounds", "/model/stop/1")]


@pytest.mark.parametrize("path", [row[0] for row in BOUNDS if isinstance(row[2], int | float)])
@pytest.mark.parametrize("value", [float("inf"), float("nan"), float("-inf")])
def test_no_number_is_endless(path: str, value: float) -> None:
    [(code, place)] = refused(document(path, value))
    assert (code in {"out_of_bounds", "wrong_type"}, place) == (True, f"/{path}")


def test_both_hard_stops_below_their_thresholds_are_told() -> None:
    limits = {"failure_streak_threshold": 7, "repeat_call_threshold": 9, "repeat_call_hard_stop": 8}
    assert refused({**SMALL, "limits": limits}) == [
        ("out_of_bounds", "/limits/failure_streak_hard_stop"),
        ("out_of_bounds", "/limits/repeat_call_hard_stop"),
    ]


# --- strict scalars --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("limits/max_turns", "3"),
        ("limits/max_turns", 3.0),
        ("limits/max_turns", True),
        ("limits/max_turns", None),
        ("limits/deadline_seconds", "3"),
        ("limits/deadline_seconds", True),
        ("description", 3),
        ("description", b"x"),
        ("description", None),
        ("description", ["x"]),
        ("name", 3),
        ("model/model", 3),
        ("model/tool_choice", None),
        ("model/parallel_tool_calls", 1),
        ("model/parallel_tool_calls", "yes"),
        ("model/reasoning_effort", 3),
        ("model/fallbacks", "abc"),
        ("model/fallbacks", {"a"}),
        ("model/fallbacks", {"a": 1}),
        ("tools", {"name": "t"}),
        ("limits", [1]),
        ("limits", None),
        ("model", "m"),
        ("input_schema", True),
        ("input_schema", []),
        ("kind", None),
    ],
)
def test_nothing_is_turned_into_another_type(path: str, value: object) -> None:
    assert refused(document(path, value)) == [("wrong_type", f"/{path}")]


def test_an_int_is_a_number_and_a_list_is_a_tuple() -> None:
    spec = small(limits={"deadline_seconds": 60}, model={"model": "m", "stop": ["a"]})
    built = AgentSpec(
        name="small", model=ModelRef(model="m", stop=("a",)), limits=Limits(deadline_seconds=60.0)
    )
    assert spec == built
    assert hash(spec) == hash(built)


@pytest.mark.parametrize(("path", "word"), [("model/reasoning_effort", "turbo"), ("kind", "workflow")])
def test_a_word_that_is_none_of_the_choices_is_out_of_bounds(path: str, word: str) -> None:
    assert refused(document(path, word)) == [("out_of_bounds", f"/{path}")]


@pytest.mark.parametrize("document_given", [None, [], "x", 3])
def test_a_document_that_is_no_object_is_refused(document_given: object) -> None:
    assert refused(document_given) == [("wrong_type", "")]


def test_everything_that_is_wrong_is_told_at_once() -> None:
    wrong = {"nmae": "x", "model": {"temperature": 3}, "tools": [{"name": "x y"}, {}], "description": 3}
    assert set(refused(wrong)) == {
        ("missing", "/name"),
        ("unknown_field", "/nmae"),
        ("missing", "/model/model"),
        ("out_of_bounds", "/model/temperature"),
        ("bad_name", "/tools/0/name"),
        ("missing", "/tools/1/name"),
        ("wrong_type", "/description"),
    }


def test_a_message_names_no_class_of_ours_and_no_address() -> None:
    wrong = {"model": 3, "limits": {"max_turns": "x"}, "tools": [3], "extra": 1, "kind": "x"}
    with pytest.raises(SpecValidationError) as error:
        read_spec(wrong)
    text = str(error.value)
    assert not [
        word for word in ("http", "AgentSpec", "ModelRef", "Limits", "CodeTool", "pydantic") if word in text
    ]
    assert "newer" in text


# --- text ------------------------------------------------------------------------------------------------

PROSE = ["description", "instructions"]
LINES = ["model/model"]


@pytest.mark.parametrize("path", PROSE)
def test_prose_has_unix_lines_and_is_kept_otherwise(path: str) -> None:
    spec = read_spec(document(path, "a\r\nb\rc\n\td \u0085\u2028e\u0301 "))
    assert reach(spec, path) == "a\nb\nc\n\td \u0085\u2028e\u0301 "


def test_prose_is_measured_with_unix_lines() -> None:
    assert len(small(description="\r\n" * 4_096).description) == 4_096


@pytest.mark.parametrize("path", [*PROSE, *LINES])
@pytest.mark.parametrize("text", ["a\0b", "a\ud800b", "\udc00"])
def test_text_holds_no_nul_and_no_lone_surrogate(path: str, text: str) -> None:
    assert refused(document(path, text)) == [("bad_text", f"/{path}")]


@pytest.mark.parametrize("path", LINES)
@pytest.mark.parametrize("control", ["\n", "\r", "\t", "\x1b", "\x7f", "\x85"])
def test_a_line_holds_no_control_character(path: str, control: str) -> None:
    assert refused(document(path, f"a{control}b")) == [("bad_text", f"/{path}")]


def test_a_stop_text_keeps_its_line_ends_and_refuses_a_lone_surrogate() -> None:
    assert small(model={"model": "m", "stop": ["\r\n", "a\r"]}).model.stop == ("\r\n", "a\r")
    assert refused(document("model/stop", ["\ud800"])) == [("bad_text", "/model/stop/0")]


@pytest.mark.parametrize("name", ["a", "_", "A.b-c_9"])
def test_a_name_is_taken(name: str) -> None:
    assert small(name=name).name == name


@pytest.mark.parametrize("name", ["9a", "-a", ".a", "a b", "é", "a\n", "a/b", ""])
def test_a_name_that_is_none_is_refused(name: str) -> None:
    assert refused(document("name", name)) == [("bad_name", "/name")]


@pytest.mark.parametrize("name", ["9a", "a.b", "a b", "a" * 65, ""])
@pytest.mark.parametrize("place", ["tools/0/name", "model/tool_choice"])
def test_a_tool_name_that_is_none_is_refused(name: str, place: str) -> None:
    spec = {**SMALL, "tools": [{"name": name}]} if place.startswith("tools") else document(place, name)
    assert refused(spec) == [("bad_name", f"/{place}")]


# --- tools -----------------------------------------------------------------------------------------------


def test_tools_are_sorted_by_name() -> None:
    names = [tool.name for tool in small(tools=[{"name": "b"}, {"name": "a"}, {"name": "C"}]).tools]
    assert names == ["C", "a", "b"]


def test_tools_of_one_name_are_refused_whatever_its_case() -> None:
    tools = [{"name": "search"}, {"name": "Search"}, {"name": "other"}, {"name": "search"}]
    assert refused({**SMALL, "tools": tools}) == [
        ("duplicate_name", "/tools/1/name"),
        ("duplicate_name", "/tools/3/name"),
    ]


@pytest.mark.parametrize("name", sorted(RESERVED_TOOL_NAMES))
def test_a_tool_takes_no_name_of_the_runtimes_own(name: str) -> None:
    assert refused({**SMALL, "tools": [{"name": "ours"}, {"name": name}]}) == [
        ("reserved_name", "/tools/1/name")
    ]


@pytest.mark.parametrize("timeout", [0, 86_400.1, float("inf")])
def test_a_tools_timeout_is_bounded(timeout: float) -> None:
    assert small(tools=[{"name": "t", "timeout_seconds": 86_400}]).tools[0].timeout_seconds == 86_400
    assert refused({**SMALL, "tools": [{"name": "t", "timeout_seconds": timeout}]}) == [
        ("out_of_bounds", "/tools/0/timeout_seconds")
    ]


# --- models ----------------------------------------------------------------------------------------------


def test_a_ring_asks_each_model_once() -> None:
    assert small(model={"model": "a", "fallbacks": ["c", "b"]}).model.ring == ("a", "c", "b")
    assert refused({**SMALL, "model": {"model": "a", "fallbacks": ["b", "a", "b"]}}) == [
        ("duplicate_name", "/model/fallbacks/1"),
        ("duplicate_name", "/model/fallbacks/2"),
    ]


@pytest.mark.parametrize("key", sorted(REQUEST_KEYS))
def test_an_option_names_no_key_that_the_request_sets(key: str) -> None:
    assert refused(document("model/options", {"seed": 1, key: None})) == [
        ("conflict", f"/model/options/{key}")
    ]


# --- JSON, schemas, callables ----------------------------------------------------------------------------


@pytest.mark.parametrize(("value", "code", "advice"), REFUSED)
@pytest.mark.parametrize("path", ["model/options", "input_schema"])
def test_a_json_field_refuses_what_is_no_json(path: str, value: object, code: str, advice: str) -> None:
    found, place = refused(document(path, {"x-a": [0, value]}))[0]
    assert found == code
    assert place.startswith(f"/{path}/x-a/1")


@pytest.mark.parametrize("path", ["model/options", "input_schema"])
def test_a_json_field_refuses_a_lone_surrogate(path: str) -> None:
    assert refused(document(path, {"x-a": "\ud800"})) == [("not_json", f"/{path}/x-a")]


def test_a_schema_that_cannot_be_used_is_refused_at_its_place() -> None:
    schema = {"type": "object", "properties": {"a/b": {"pattern": "(?=x)"}}}
    assert refused(document("input_schema", schema)) == [
        ("bad_schema", "/input_schema/properties/a~1b/pattern")
    ]


@pytest.mark.parametrize(
    "path",
    [
        "name",
        "description",
        "kind",
        "model",
        "model/model",
        "model/fallbacks",
        "model/temperature",
        "model/reasoning_effort",
        "model/parallel_tool_calls",
        "model/options",
        "tools",
        "limits",
        "limits/max_turns",
        "suspension/approval_expires_seconds",
        "input_schema",
        "on_finish",
    ],
)
@pytest.mark.parametrize(
    "value", [len, Limits, "".join, lambda: None], ids=["builtin", "class", "method", "lambda"]
)
def test_nothing_callable_stands_in_a_spec(path: str, value: object) -> None:
    assert refused(document(path, value)) == [("callable", f"/{path}")]


def test_a_function_among_the_tools_is_told_how_it_is_granted() -> None:
    def look_up(order_id: str) -> str:
        return order_id

    advice = r'CodeTool\(name="look_up"\).* session\(tools=\[…\]\)'
    with pytest.raises(SpecValidationError, match=advice):
        small(tools=(look_up,))
    assert refused(document("tools", (look_up,))) == [("callable", "/tools/0")]


def test_a_model_class_for_a_schema_is_told_how_to_give_it() -> None:
    with pytest.raises(SpecValidationError, match=r"Limits\.model_json_schema\(\)"):
        small(output_schema=Limits)


# --- values that cannot change ---------------------------------------------------------------------------


def test_a_spec_and_all_in_it_is_frozen() -> None:
    spec = small(model={"model": "m", "options": {"a": {"b": [1]}}}, input_schema={"type": "object"})
    for model, field in ((spec, "name"), (spec.model, "model"), (spec.limits, "max_turns")):
        with pytest.raises(ValidationError, match="frozen"):
            setattr(model, field, "x")
    options: Any = spec.model.options
    with pytest.raises(TypeError, match="cannot change"):
        options["a"]["b"].append(2)
    assert isinstance(spec.input_schema, FrozenDict)


def test_what_a_spec_was_built_from_may_change_afterwards() -> None:
    options = {"a": [1]}
    spec = AgentSpec(name="s", model=ModelRef(model="m", options=options))
    options["a"].append(2)
    assert spec.model.options == {"a": [1]}


def test_a_copy_with_other_values_is_validated() -> None:
    spec = small(tools=[{"name": "a"}], limits={"max_turns": 3})
    assert spec.model_copy() == spec
    assert spec.model_copy(update={"name": "other"}).name == "other"
    tools = spec.model_copy(update={"tools": [{"name": "z"}, {"name": "b"}]}).tools
    assert [tool.name for tool in tools] == ["b", "z"]
    with pytest.raises(ValidationError) as error:
        spec.model_copy(update={"limits": {"max_turns": 0}, "nmae": "x"})
    assert {(issue.code, issue.path) for issue in issues_from(error.value)} == {
        ("out_of_bounds", "/limits/max_turns"),
        ("unknown_field", "/nmae"),
    }


def test_a_part_made_around_validation_is_validated_with_the_whole() -> None:
    tool = CodeTool.model_construct(name="x y")
    with pytest.raises(ValidationError) as error:
        AgentSpec(name="s", model=ModelRef(model="m"), tools=(tool,))
    assert [(issue.code, issue.path) for issue in issues_from(error.value)] == [("bad_name", "/tools/0/name")]
