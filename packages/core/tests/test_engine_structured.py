"""An answer that must fit a schema: judged, sent back, given by a call, or the end of its lane."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from packages.core.tests.logs import acting, answered, calling, calls_of
from packages.core.tests.plans import plans
from psych_runtime.testing.clock import START
from psych_runtime.testing.log_builder import MODEL, Calls, LogBuilder
from psych_runtime_core.engine.conversation import Conversation
from psych_runtime_core.engine.decide import next_effects
from psych_runtime_core.engine.effects import Append, Effect, RunTool, Settle
from psych_runtime_core.engine.plan import Plans
from psych_runtime_core.engine.structured import Fit, Misfit, answer_tool, judge_call, judge_text
from psych_runtime_core.errors import Violation
from psych_runtime_core.jsonvalue import FrozenDict, Json, freeze, json_text
from psych_runtime_core.messages import FinishReason
from psych_runtime_core.records.facts import ToolFailure
from psych_runtime_core.records.tool import ToolCallFinished
from psych_runtime_core.records.turn import ModelCallStarted, TurnStarted
from psych_runtime_core.schema import check_schema, violations

NOW = START + timedelta(seconds=100)


def schema_of(keywords: dict[str, Json]) -> FrozenDict:
    schema = freeze(keywords)
    assert isinstance(schema, FrozenDict)
    return schema


TOTAL = schema_of({"type": "object", "required": ["total"], "properties": {"total": {"type": "integer"}}})
WORDS = schema_of({"type": "array", "items": {"type": "string"}})
STRICT = plans(output_schema=TOTAL)
GIVEN: Calls = [("final_answer", {"total": 7})]


def does(log: LogBuilder, given: Plans = STRICT) -> tuple[Effect, ...]:
    return next_effects(given, log.state(), NOW)


def settled(log: LogBuilder, given: Plans = STRICT) -> Settle:
    (effect,) = does(log, given)
    assert isinstance(effect, Settle)
    return effect


def finished(log: LogBuilder, given: Plans = STRICT) -> ToolCallFinished:
    """The end of the turn's last call, which the engine alone decides."""
    appends = [effect for effect in does(log, given) if isinstance(effect, Append)]
    record = appends[-1].records[-1]
    assert isinstance(record, ToolCallFinished)
    return record


def kind_of(failure: ToolFailure | None) -> str:
    assert failure is not None
    return failure.kind


# --- as text ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param('{"total": 7}', {"total": 7}, id="the whole text"),
        pytest.param(' \n{"total": 7}\n', {"total": 7}, id="blanks around it"),
        pytest.param('```json\n{"total": 7}\n```', {"total": 7}, id="a fenced block alone"),
        pytest.param('Here:\n```\n{"total": 7}\n```\nDone.', {"total": 7}, id="one fenced block in prose"),
        pytest.param(
            'Here:\r\n```json\r\n{"total":\r\n7}\r\n```\r\n', {"total": 7}, id="lines that end in CRLF"
        ),
        pytest.param('~~~json\n{"total": 7}\n~~~', {"total": 7}, id="tildes"),
        pytest.param('````\n{"total": 7}\n````', {"total": 7}, id="four backticks"),
        pytest.param('{"total": 7, "more": [1.5]}', {"total": 7, "more": [1.5]}, id="an open object"),
    ],
)
def test_a_text_that_fits_is_the_answer(text: str, value: Json) -> None:
    log = answered(text)
    record = settled(log).record
    assert (record.output, record.answer_seq) == ({"text": text, "value": value}, log.state().head_seq)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("The total is 7.", id="prose"),
        pytest.param('The total is {"total": 7}.', id="JSON in prose"),
        pytest.param('```\n{"total": 7}\n```\n```\n{"total": 8}\n```', id="two fenced blocks"),
        pytest.param('{"total": "7"}', id="a value of another type"),
        pytest.param('{"total": 7, "total": 8}', id="a key twice"),
        pytest.param('{"total": NaN}', id="NaN"),
        pytest.param("[" * 3_000 + "]" * 3_000, id="3,000 deep"),
        pytest.param('{"total": 7', id="cut short"),
    ],
)
def test_a_text_that_does_not_fit_is_sent_back(text: str) -> None:
    (effect,) = does(answered(text))
    assert isinstance(effect, Append)
    turn, call = effect.records
    assert isinstance(turn, TurnStarted)
    assert call == ModelCallStarted(turn=2, try_number=1, model=MODEL)
    assert turn.repair is not None
    assert "does not fit the JSON Schema" in turn.repair


def test_what_was_wrong_is_told_and_at_most_ten_faults() -> None:
    schema = schema_of({"type": "array", "items": {"type": "integer"}})
    judged = judge_text(schema, json_text(["x"] * 40))
    assert isinstance(judged, Misfit)
    (effect,) = does(answered(json_text(["x"] * 40)), plans(output_schema=schema))
    assert isinstance(effect, Append)
    (turn, _) = effect.records
    assert isinstance(turn, TurnStarted)
    assert (turn.repair or "").count('is not of type "integer"') == 10
    assert "more" in (turn.repair or "")


NO_JSON = "it is no JSON value: write the value alone, or in one fenced block"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        pytest.param("The total is 7.", NO_JSON, id="prose"),
        pytest.param('{"total": 7', NO_JSON, id="cut short"),
        pytest.param("```\n1\n```\n```\n2\n```", NO_JSON, id="two fenced blocks"),
        pytest.param('{"a": 1, "a": 1}', "the key 'a' stands twice in one object", id="a key twice"),
        pytest.param('So:\n```\n{"a": 1, "a": 1}\n```', "the key 'a' stands twice", id="in a fenced block"),
        pytest.param("[" * 129 + "]" * 129, "deeper than 128 levels", id="129 deep"),
        pytest.param("[" * 9_000 + "]" * 9_000, "the document is nested too deeply", id="9,000 deep"),
        pytest.param('{"a": [NaN]}', "NaN is no JSON", id="NaN"),
        pytest.param("9" * 5_000, "an int of more than 4,300 digits: write a string", id="digits"),
        pytest.param('{"a": 1e999}', "/a: inf has no JSON form: write a finite number", id="a huge number"),
        pytest.param(f'{{"{"k" * 500}": 1, "{"k" * 500}": 1}}', "the key 'kkk", id="a long key twice"),
    ],
)
def test_why_a_text_is_no_value_is_told(text: str, fault: str) -> None:
    judged = judge_text(schema_of({}), text)
    assert isinstance(judged, Misfit)
    [found] = judged.faults
    assert fault in str(found)
    assert len(str(found)) < 250


def test_the_model_reads_its_answer_and_then_what_was_wrong_with_it() -> None:
    log = answered("no").turn(repair="Write JSON.").model_started().model_finished("{}")
    conversation = Conversation("Be brief.")
    for record in log.records:
        conversation.absorb(record)
    said = [getattr(message, "text", None) for message in conversation.prompt().messages[-3:]]
    assert said == ["no", "Write JSON.", "{}"]


@pytest.mark.parametrize("retries", [0, 1, 2])
def test_an_answer_is_sent_back_as_often_as_allowed_and_then_the_lane_fails(retries: int) -> None:
    given = plans(output_schema=TOTAL, output_retries=retries)
    log = answered("no")
    for _ in range(retries):
        assert isinstance(does(log, given)[0], Append)
        log = log.turn(repair="again").model_started().model_finished("no")
    assert kind_of(settled(log, given).record.failure) == "schema_violation"


def test_a_follow_up_is_read_before_the_answer_is_judged() -> None:
    log = answered("no").enqueued(queue="follow_up")
    (effect,) = does(log)
    assert isinstance(effect, Append)
    turn = effect.records[0]
    assert isinstance(turn, TurnStarted)
    assert turn.repair is None


@pytest.mark.parametrize(
    ("finish", "kind"),
    [
        pytest.param(FinishReason.LENGTH, "output_truncated", id="cut off"),
        pytest.param(FinishReason.CONTENT_FILTER, "content_filter", id="filtered"),
        pytest.param(FinishReason.REFUSAL, "refusal", id="refused"),
    ],
)
def test_an_answer_that_is_no_whole_one_is_never_sent_back(finish: FinishReason, kind: str) -> None:
    log = calling().model_finished('{"total": 7}', finish_reason=finish)
    assert kind_of(settled(log).record.failure) == kind


def test_without_a_schema_any_text_is_the_answer() -> None:
    assert settled(answered("no"), plans()).record.output == {"text": "no"}


# --- too large to be kept --------------------------------------------------------------------------------

LONG = 2 * 1024 * 1024


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(json_text("a" * (LONG - 60)), id="a string, as text and as a value"),
        pytest.param(f"[{'1e15,' * 300_000}1]", id="numbers that are longer written out"),
    ],
)
def test_an_answer_that_no_record_holds_ends_the_run_by_its_name(text: str) -> None:
    end = settled(answered(text), plans(output_schema=schema_of({}))).record
    assert end.failure is not None
    assert (end.state, end.output) == ("failed", None)
    assert (end.failure.kind, end.failure.code) == ("permanent", "answer_too_large")


def test_so_does_one_that_a_call_gave() -> None:
    value = freeze([10**15] * 200_000)
    given = plans(output_schema=schema_of({"type": "array"}))
    log = acting([("final_answer", {"value": value})])
    assert finished(log, given).outcome == "ok"
    end = settled(log.tool_finished(0, value), given).record
    assert end.failure is not None
    assert end.failure.code == "answer_too_large"


def test_an_answer_that_a_record_just_holds_settles() -> None:
    text = json_text("a" * (LONG - 4_096))
    assert settled(answered(text), plans(output_schema=schema_of({}))).record.state == "completed"


# --- as a call -------------------------------------------------------------------------------------------


def test_a_call_that_fits_begins_nothing_and_is_the_answer() -> None:
    log = acting(GIVEN)
    record = finished(log)
    assert (record.outcome, record.result) == ("ok", {"total": 7})
    log.tool_finished(0, {"total": 7})
    end = settled(log).record
    assert (end.output, end.answer_seq) == (
        {"text": '{"total":7}', "value": {"total": 7}},
        log.state().head_seq,
    )
    assert log.state().meter.tool_calls == 0


def test_an_answer_that_is_no_object_stands_below_value() -> None:
    given = plans(output_schema=WORDS)
    log = acting([("final_answer", {"value": ["a"]})])
    assert finished(log, given).result == ["a"]
    log.tool_finished(0, ["a"])
    assert settled(log, given).record.output == {"text": '["a"]', "value": ["a"]}


def test_an_answer_that_is_null_is_an_answer() -> None:
    given = plans(output_schema=schema_of({"type": ["null", "integer"]}))
    log = acting([("final_answer", {"value": None})]).tool_finished(0, None)
    assert settled(log, given).record.output == {"text": "null", "value": None}


@pytest.mark.parametrize(
    ("calls", "kind"),
    [
        pytest.param([("final_answer", {"total": "7"})], "schema_violation", id="it does not fit"),
        pytest.param([("final_answer", "total=7")], "malformed_arguments", id="no object"),
        pytest.param([*calls_of("look"), *GIVEN], "answer_not_alone", id="beside another call"),
        pytest.param([*GIVEN, *GIVEN], "answer_not_alone", id="twice"),
    ],
)
def test_a_call_that_is_no_answer_is_refused(calls: Calls, kind: str) -> None:
    record = finished(acting(calls))
    assert (record.outcome, kind_of(record.failure)) == ("refused", kind)


def test_the_calls_beside_it_run() -> None:
    log = acting([*calls_of("look"), *GIVEN])
    answer = log.state().calls_of("")[1]
    log.refused(answer.call_id, "answer_not_alone")
    assert isinstance(does(log)[0], RunTool)


def test_a_call_that_stays_alone_because_the_others_were_refused_is_still_not_alone() -> None:
    log = acting([*calls_of("look"), *GIVEN]).refused(0)
    assert kind_of(finished(log).failure) == "answer_not_alone"


@pytest.mark.parametrize(("kind", "left"), [("schema_violation", 0), ("malformed_arguments", 1)])
def test_only_an_answer_that_does_not_fit_spends_a_repair(kind: str, left: int) -> None:
    given = plans(output_schema=TOTAL, output_retries=0)
    log = acting(GIVEN).refused(0, kind)
    effects = does(log, given)
    assert len([effect for effect in effects if isinstance(effect, Append)]) == left
    if not left:
        assert kind_of(settled(log, given).record.failure) == "schema_violation"


def test_the_same_name_without_a_schema_is_a_call_like_any_other() -> None:
    assert isinstance(does(acting(GIVEN), plans())[0], RunTool)


def test_a_text_that_fits_counts_where_a_call_was_asked_for() -> None:
    assert settled(answered('{"total": 1}')).record.output == {"text": '{"total": 1}', "value": {"total": 1}}


# --- the tool --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "schema",
    [
        pytest.param(TOTAL, id="an object's schema as it is"),
        pytest.param(WORDS, id="any other below value"),
        pytest.param(schema_of({"$ref": "#/$defs/t", "$defs": {"t": {"type": "string"}}}), id="a ref"),
        pytest.param(
            schema_of({"anyOf": [{"type": "integer"}, {"type": "array", "items": {"$ref": "#"}}]}),
            id="a schema that holds itself",
        ),
    ],
)
def test_the_tool_takes_what_the_judge_takes(schema: FrozenDict) -> None:
    definition = answer_tool(schema)
    assert answer_tool(FrozenDict(schema)) is definition
    check_schema(definition.parameters, object_root=True)
    samples: list[Json] = [{"total": 1}, {"total": "x"}, ["a"], [1], "text", 5, [[5]], None]
    for value in samples:
        arguments = value if schema.get("type") == "object" else {"value": value}
        if isinstance(arguments, dict):
            taken = not violations(arguments, definition.parameters)
            assert taken == isinstance(judge_call(schema, arguments), Fit)


@pytest.mark.parametrize(
    "alike",
    [
        pytest.param([1, True], id="one and true"),
        pytest.param([0, False], id="none and false"),
        pytest.param([[1], [True]], id="in a list"),
        pytest.param([{"a": {"b": 0}}, {"a": {"b": False}}], id="in objects"),
    ],
)
def test_schemas_that_python_takes_for_one_have_tools_of_their_own(alike: list[Json]) -> None:
    first, second = (schema_of({"type": "object", "properties": {"ok": {"const": ok}}}) for ok in alike)
    assert first == second
    told = [json_text(answer_tool(schema).parameters) for schema in (first, second)]
    assert told == [json_text(first), json_text(second)]
    assert told[0] != told[1]


@pytest.mark.parametrize(
    "arguments", [{}, {"other": ["a"]}, {"value": ["a"], "other": 1}], ids=["none", "another", "more"]
)
def test_arguments_without_their_value_do_not_fit(arguments: dict[str, Json]) -> None:
    assert isinstance(judge_call(WORDS, arguments), Misfit)


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=5))
def test_what_a_call_gave_reads_back_from_its_text(value: Json) -> None:
    anything = schema_of({})
    judged = judge_call(anything, {"value": value})
    assert isinstance(judged, Fit)
    again = judge_text(anything, json_text(judged.value))
    assert isinstance(again, Fit)
    assert json_text(again.value) == json_text(value)


@pytest.mark.parametrize(
    "line", ["```x\n", "```\n", "~~~\n", "`````\n```\n", "   ```x", "[", '{"a":'], ids=repr
)
def test_a_text_as_long_as_can_be_is_judged_at_once(line: str) -> None:
    assert isinstance(judge_text(TOTAL, line * (LONG // len(line))), Misfit)


@given(st.text())
def test_any_text_is_judged(text: str) -> None:
    judged = judge_text(TOTAL, text)
    assert isinstance(judged, Fit) or all(isinstance(fault, Violation) for fault in judged.faults)
