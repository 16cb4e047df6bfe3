"""Answers that must fit a schema, asked for in each way, by a whole Worker."""

from collections.abc import Mapping
from typing import Any

import pytest

from psych_runtime import (
    AgentSpec,
    AnswerView,
    Limits,
    ModelCallFinished,
    ModelCapabilities,
    ModelRef,
    RunFailed,
    Store,
    answer,
    records,
)
from psych_runtime.testing import FakeModel, ToolCallScript
from psych_runtime_core.messages import FinishReason, SystemMessage
from psych_runtime_core.spec.model import OutputMode
from psych_runtime_core.spec.tools import CodeTool
from tests.e2e.stage import at_work, begun, ended, only, registered, types

ORDER = {"type": "object", "required": ["total"], "properties": {"total": {"type": "integer"}}}
GOOD, BAD = '{"total": 7}', "The total is 7."
NATIVE = ModelCapabilities(structured_output="schema", structured_with_tools=True)
ALONE = ModelCapabilities(structured_output="schema")
JSON = ModelCapabilities(structured_output="json", tools=False)
PLAIN = ModelCapabilities(tools=False)


async def look(order_id: str) -> str:
    """Look an order up."""
    return order_id


def spec(
    mode: OutputMode = "auto", *tools: str, schema: Mapping[str, Any] = ORDER, retries: int = 2
) -> AgentSpec:
    return AgentSpec(
        name="clerk",
        instructions="Sum it up.",
        model=ModelRef(model="fake-1", output_mode=mode),
        tools=tuple(CodeTool(name=name) for name in tools),
        limits=Limits(output_retries=retries),
        output_schema=schema,
    )


async def answered(store: Store, model: FakeModel, given: AgentSpec) -> AnswerView:
    async with at_work(store, model, registered(look)):
        run_id = await begun(store, given)
        await ended(store, run_id)
    return await answer(store, run_id)


@pytest.mark.parametrize(
    ("able", "tools", "mode"),
    [
        pytest.param(NATIVE, (), "native", id="a schema on the wire"),
        pytest.param(NATIVE, ("look",), "native", id="a schema beside tools"),
        pytest.param(ALONE, (), "native", id="a schema, and no tools offered"),
        pytest.param(ALONE, ("look",), "tool", id="no schema beside tools"),
        pytest.param(ModelCapabilities(), (), "tool", id="a model nobody knows"),
        pytest.param(JSON, (), "prompted", id="JSON alone"),
        pytest.param(JSON, ("look",), "prompted", id="JSON alone, and not beside tools"),
        pytest.param(PLAIN, (), "prompted", id="neither"),
    ],
)
async def test_the_mode_follows_what_the_model_can(
    store: Store, able: ModelCapabilities, tools: tuple[str, ...], mode: str
) -> None:
    model = FakeModel(capabilities=able).turn(GOOD)
    view = await answered(store, model, spec("auto", *tools))
    assert view.result() == {"total": 7}
    (call,) = only(ModelCallFinished, await records(store, view.run_id))
    request = model.last_request
    assert call.sent.output_mode == mode
    assert (request.output_schema == ORDER) is (mode == "native" or (able is JSON and not tools))
    assert ("final_answer" in [tool.name for tool in request.tools]) is (mode == "tool")
    system = request.messages[0]
    assert isinstance(system, SystemMessage)
    assert ("one JSON value" in system.content) is (mode == "prompted")
    assert system.content.startswith("Sum it up.")
    assert call.sent.system_prompt == system.content


@pytest.mark.parametrize(
    ("mode", "able"),
    [
        pytest.param("native", ModelCapabilities(), id="no schema"),
        pytest.param("native", JSON, id="JSON alone"),
        pytest.param("tool", PLAIN, id="no tools"),
    ],
)
async def test_what_the_model_cannot_do_is_never_sent(
    store: Store, mode: OutputMode, able: ModelCapabilities
) -> None:
    model = FakeModel(capabilities=able)
    view = await answered(store, model, spec(mode))
    assert not model.calls
    with pytest.raises(RunFailed, match=r"output_mode.* knows by dialect=, .*capabilities="):
        view.result()


TOOLLESS = ModelCapabilities(structured_output="schema", tools=False)
NUMBERS = {"type": "array", "items": {"type": "integer"}}


@pytest.mark.parametrize(
    ("wanted", "able", "mode", "bound"),
    [
        pytest.param("auto", NATIVE, "tool", False, id="a model that binds answers"),
        pytest.param("auto", ModelCapabilities(), "tool", False, id="one nobody knows"),
        pytest.param("auto", TOOLLESS, "prompted", False, id="one without tools"),
        pytest.param("auto", JSON, "prompted", False, id="a promise of JSON, which is one of an object"),
        pytest.param("native", NATIVE, "native", True, id="as the Spec says"),
    ],
)
async def test_a_schema_of_no_object_binds_nothing_that_binds_objects_alone(
    store: Store, wanted: OutputMode, able: ModelCapabilities, mode: str, bound: bool
) -> None:
    model = FakeModel(capabilities=able)
    if mode == "tool":
        model.turn(tool_calls=[("final_answer", {"value": [1, 2]})])
    else:
        model.turn("[1, 2]")
    view = await answered(store, model, spec(wanted, schema=NUMBERS))
    assert view.result() == [1, 2]
    (call,) = only(ModelCallFinished, await records(store, view.run_id))
    assert call.sent.output_mode == mode
    assert (model.last_request.output_schema is not None) is bound


async def test_a_list_that_is_given_as_text_where_a_call_was_asked_for_is_taken(store: Store) -> None:
    view = await answered(store, FakeModel(capabilities=NATIVE).turn("[1, 2]"), spec(schema=NUMBERS))
    assert view.result() == [1, 2]


@pytest.mark.parametrize("able", [NATIVE, PLAIN], ids=["native", "prompted"])
@pytest.mark.parametrize(
    ("said", "asked"),
    [
        pytest.param([GOOD], 1, id="at once"),
        pytest.param([BAD, GOOD], 2, id="after one repair"),
        pytest.param([BAD, BAD, GOOD], 3, id="after two"),
        pytest.param(["```json\n{}\n```", f"```json\n{GOOD}\n```"], 2, id="fenced"),
    ],
)
async def test_an_answer_is_repaired(
    store: Store, able: ModelCapabilities, said: list[str], asked: int
) -> None:
    model = FakeModel(capabilities=able)
    for text in said:
        model.turn(text)
    view = await answered(store, model, spec())
    assert view.result() == {"total": 7}
    assert len(model.calls) == asked


async def test_one_that_never_fits_fails_with_its_last_text_readable(store: Store) -> None:
    view = await answered(store, FakeModel().turn(BAD).repeat(), spec())
    with pytest.raises(RunFailed, match="output_schema"):
        view.result()
    assert only(ModelCallFinished, await records(store, view.run_id))[-1].text == BAD


MODES = pytest.mark.parametrize(
    ("mode", "able"),
    [
        pytest.param("native", NATIVE, id="native"),
        pytest.param("tool", ModelCapabilities(), id="tool"),
        pytest.param("prompted", PLAIN, id="prompted"),
    ],
)
DEEP = '{"total": ' + "[" * 3_000 + "]" * 3_000 + "}"


def fails_with(view: AnswerView) -> str:
    with pytest.raises(RunFailed) as caught:
        view.result()
    assert caught.value.failure is not None
    return caught.value.failure.kind


@MODES
@pytest.mark.parametrize("said", [GOOD, GOOD[:-3]], ids=["whole", "cut"])
async def test_a_truncated_answer_completes_no_run_and_is_not_sent_back(
    store: Store, mode: OutputMode, able: ModelCapabilities, said: str
) -> None:
    model = FakeModel(capabilities=able).turn(said, finish_reason=FinishReason.LENGTH)
    view = await answered(store, model, spec(mode))
    assert fails_with(view) == "output_truncated"
    assert len(model.calls) == 1


async def test_a_truncated_call_is_no_answer(store: Store) -> None:
    model = FakeModel(capabilities=ModelCapabilities())
    model.turn(tool_calls=[("final_answer", {"total": 7})], finish_reason=FinishReason.LENGTH)
    model.turn(tool_calls=[("final_answer", {"total": 8})])
    view = await answered(store, model, spec("tool"))
    assert view.result() == {"total": 8}


@MODES
async def test_a_refusal_completes_no_run_and_is_not_sent_back(
    store: Store, mode: OutputMode, able: ModelCapabilities
) -> None:
    model = FakeModel(capabilities=able).turn(refusal="I will not.")
    view = await answered(store, model, spec(mode))
    assert fails_with(view) == "refusal"
    assert len(model.calls) == 1
    (call,) = only(ModelCallFinished, await records(store, view.run_id))
    assert call.message.refusal == "I will not."


@MODES
async def test_an_answer_three_thousand_deep_is_told_so_and_can_be_mended(
    store: Store, mode: OutputMode, able: ModelCapabilities
) -> None:
    model = FakeModel(capabilities=able).turn(DEEP).turn(GOOD)
    view = await answered(store, model, spec(mode))
    assert view.result() == {"total": 7}
    again = FakeModel(capabilities=able).turn(DEEP).repeat()
    view = await answered(store, again, spec(mode, retries=1))
    assert (fails_with(view), len(again.calls)) == ("schema_violation", 2)


async def test_a_call_three_thousand_deep_is_told_so_and_can_be_mended(store: Store) -> None:
    deep = ToolCallScript("final_answer", raw_arguments=DEEP)
    model = FakeModel(capabilities=ModelCapabilities()).turn(tool_calls=[deep])
    model.turn(tool_calls=[("final_answer", {"total": 7})])
    view = await answered(store, model, spec("tool"))
    assert view.result() == {"total": 7}
    assert "deep" in str(model.last_request.messages[-1])


async def test_a_call_gives_the_answer_when_its_turn_comes(store: Store) -> None:
    model = FakeModel(capabilities=ModelCapabilities())
    final = ("final_answer", {"total": 7})
    model.turn(tool_calls=[("look", {"order_id": "a"}), final])
    model.turn(tool_calls=[("final_answer", {"total": "7"})])
    model.turn(tool_calls=[final])
    view = await answered(store, model, spec("tool", "look"))
    assert view.result() == {"total": 7}
    told = [getattr(message, "text", "") for message in model.last_request.messages]
    assert any("came beside other calls" in text for text in told)
    assert any("does not fit its schema" in text for text in told)
    assert "a" in told


async def test_the_answer_asks_nobody(store: Store) -> None:
    """Not even where every call needs a person."""
    model = FakeModel(capabilities=ModelCapabilities()).turn(tool_calls=[("final_answer", {"total": 1})])
    async with at_work(store, model, registered(look), runtime={"approval_selectors": ("@read-only",)}):
        run_id = await begun(store, spec("tool", "look"))
        await ended(store, run_id)
    assert (await answer(store, run_id)).result() == {"total": 1}
    assert "suspended" not in await types(store, run_id)


async def test_a_remote_reference_is_refused_when_the_spec_is_made() -> None:
    with pytest.raises(ValueError, match="ref"):
        spec(schema={"$ref": "https://example.com/schema.json"})
