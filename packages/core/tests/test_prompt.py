"""What a lane's model is sent, message by message."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest
from hypothesis import given, settings

from packages.core.tests.prompt_logs import HOSTILE, RUN, SOURCE, Log, logs
from psych_runtime_core.engine import prompt as module
from psych_runtime_core.engine import wording
from psych_runtime_core.engine.prompt import Conversation, Origin, Prompt, PromptFault, system_prompt
from psych_runtime_core.ids import ToolCallId
from psych_runtime_core.messages import (
    AssistantMessage,
    AssistantPart,
    Message,
    ReasoningPart,
    RefusalPart,
    SystemMessage,
    TextPart,
    ToolCall,
    ToolResultMessage,
    UserMessage,
    check_conversation,
)
from psych_runtime_core.records import Record
from psych_runtime_core.records.facts import FailureKind, ToolOutcome
from psych_runtime_core.records.tool import ToolCallFinished
from psych_runtime_core.records.turn import ModelCallFinished
from psych_runtime_core.spec.agent import AgentSpec
from psych_runtime_core.spec.model import ModelRef


def absorbed(records: Sequence[Record], system: str = "") -> Conversation:
    conversation = Conversation(system)
    for record in records:
        conversation.absorb(record)
    return conversation


def messages_of(log: Log, system: str = "") -> tuple[Message, ...]:
    sent = absorbed(log.records, system).prompt()
    assert sent.check() is None
    return sent.messages


def contents(messages: Sequence[Message]) -> list[str]:
    return [one.text if isinstance(one, AssistantMessage) else one.content for one in messages]


# --- record by record --------------------------------------------------------------------------------------


def spec(instructions: str, description: str) -> AgentSpec:
    return AgentSpec(name="a", model=ModelRef(model="m"), instructions=instructions, description=description)


@pytest.mark.parametrize(
    ("given_spec", "told"),
    [
        pytest.param(spec("Be brief.", "An agent."), "Be brief.", id="its instructions"),
        pytest.param(spec("", "An agent."), "An agent.", id="else its description"),
        pytest.param(spec("", ""), "", id="else nothing"),
    ],
)
def test_the_system_prompt_of_an_agent_is(given_spec: AgentSpec, told: str) -> None:
    assert system_prompt(given_spec) == told


def test_the_system_prompt_stands_first_and_the_input_follows() -> None:
    assert messages_of(Log(message="hi"), "Be brief.") == (
        SystemMessage(content="Be brief."),
        UserMessage(content="hi"),
    )


def test_an_empty_input_and_an_empty_system_prompt_are_left_out() -> None:
    assert messages_of(Log()) == ()


def test_a_message_stands_where_it_was_consumed_and_not_before() -> None:
    log = Log(message="hi")
    log.ask()
    log.send("e1", message="first")
    log.send("e1", message="the same entry again")
    log.send("e2", text="second")
    log.say("hello")
    assert contents(messages_of(log)) == ["hi", "hello"]
    log.ask()
    assert contents(messages_of(log)) == ["hi", "hello", "first", "second"]


def test_a_failed_try_leaves_nothing() -> None:
    log = Log(message="hi")
    log.ask()
    log.fail()
    log.try_model()
    assert contents(messages_of(log)) == ["hi"]


def test_records_of_another_lane_are_passed_over() -> None:
    log = Log(message="hi")
    log.ask()
    log.say("hello")
    foreign = log.records[-1].model_copy(update={"lane": "step"})
    assert contents(absorbed([*log.records[:-1], foreign]).prompt().messages) == ["hi"]


@pytest.mark.parametrize(
    ("parts", "kept"),
    [
        pytest.param(
            [TextPart(text="a"), ReasoningPart(text="b")], True, id="text is kept, with all beside it"
        ),
        pytest.param([RefusalPart(text="no")], True, id="a refusal is a text"),
        pytest.param([ReasoningPart(text="b")], False, id="reasoning alone is left out"),
        pytest.param([TextPart(text="")], False, id="an empty text is left out"),
        pytest.param([], False, id="nothing is left out"),
    ],
)
def test_an_answer_without_calls(parts: list[AssistantPart], kept: bool) -> None:
    log = Log(message="hi")
    log.ask()
    log.answer(parts=parts)
    whole = (AssistantMessage(parts=tuple(parts), source=SOURCE),)
    assert messages_of(log)[1:] == (whole if kept else ())


def test_results_are_released_in_call_order_when_the_last_is_in() -> None:
    log = Log(message="hi")
    log.ask()
    first, second, third = log.answer(("a", "{}"), ("b", "{}"), ("c", "{}"), parts=[TextPart(text="doing")])
    log.run(third, {"n": 3})
    log.run(first, "one")
    assert contents(messages_of(log)) == ["hi"]
    log.finish(second, ToolOutcome.REFUSED, "not now")
    said = messages_of(log)
    assert contents(said) == ["hi", "doing", "one", "not now", '{"n":3}']
    results = [one for one in said if isinstance(one, ToolResultMessage)]
    assert [(one.call_id, one.name, one.is_error) for one in results] == [
        (first, "a", False),
        (second, "b", True),
        (third, "c", False),
    ]


def test_each_message_names_the_record_behind_it() -> None:
    log = Log(message="hi")
    log.ask()
    first, second = log.answer(("a", "{}"), ("b", "{}"))
    log.run(second, 2)
    log.run(first, 1)
    sent = absorbed(log.records, "Be brief.").prompt()
    by_seq = [log.records[origin.seq - 1].type for origin in sent.origins]
    assert by_seq == [
        "run_admitted",
        "run_admitted",
        "model_call_finished",
        "tool_call_finished",
        "tool_call_finished",
    ]
    assert sent.origins[-2].seq > sent.origins[-1].seq
    assert {origin.run_id for origin in sent.origins} == {RUN}


def test_a_result_of_edited_arguments_says_first_that_a_person_changed_them() -> None:
    log = Log(message="hi")
    log.ask()
    (call,) = log.answer(("pay", '{"amount":900}'))
    log.suspend(call)
    log.decide(call, True, {"amount": 90})
    log.start(call, {"amount": 90})
    log.attempt()
    log.start(call)
    log.finish(call, ToolOutcome.OK, "paid")
    assert contents(messages_of(log))[-1] == wording.edited({"amount": 90}) + "paid"


def test_a_repeated_call_is_told_the_answer_it_has() -> None:
    log = Log(message="hi")
    for result in ("41", "42"):
        log.ask()
        log.run(log.answer(("look", "{}"))[0], result)
    log.ask()
    same, other = log.answer(("look", "{}"), ("look", '{"a":1}'))
    log.finish(same, ToolOutcome.REFUSED, "again", FailureKind.REPEATED_CALL)
    log.finish(other, ToolOutcome.REFUSED, "again", FailureKind.REPEATED_CALL)
    assert contents(messages_of(log))[-2:] == ["again" + wording.known_answer("42"), "again"]


def test_the_answer_of_an_edited_call_is_that_of_the_call_it_became() -> None:
    log = Log(message="hi")
    log.ask()
    (call,) = log.answer(("pay", '{"amount":900}'))
    log.suspend(call)
    log.decide(call, True, {"amount": 90})
    log.start(call, {"amount": 90})
    log.finish(call, ToolOutcome.OK, "paid")
    log.ask()
    log.finish(
        log.answer(("pay", '{"amount":900}'))[0], ToolOutcome.REFUSED, "again", FailureKind.REPEATED_CALL
    )
    assert contents(messages_of(log))[-1] == "again"


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        pytest.param("look_up-2", "look_up-2", id="a plain name stays"),
        pytest.param("a.b/c d", "a_b_c_d", id="other characters become underscores"),
        pytest.param("", "_", id="no name is one underscore"),
        pytest.param("n" * 99, "n" * 64, id="a long one is cut"),
        pytest.param("\ud800\x00é", "___", id="surrogates, NUL and letters too"),
    ],
)
def test_a_name_is_brought_to_what_providers_take(name: str, plain: str) -> None:
    log = Log(message="hi")
    log.ask()
    log.run(log.answer((name, "{}"))[0], "done")
    _, answer, result = messages_of(log)
    assert isinstance(answer, AssistantMessage)
    assert isinstance(result, ToolResultMessage)
    assert answer.tool_calls[0].name == result.name == plain


def test_an_answer_that_needs_no_change_is_the_record_s_own_message() -> None:
    log = Log(message="hi")
    log.ask()
    log.run(log.answer(("look", "{"))[0], "done")
    finished = next(record for record in log.records if isinstance(record, ModelCallFinished))
    assert messages_of(log)[1] is finished.message


def test_an_erased_answer_takes_its_results_along() -> None:
    log = Log(message="hi")
    log.ask()
    log.run(log.answer(("look", "{}"))[0], "done")
    bare = {"message": AssistantMessage(source=SOURCE), "erased": True}
    erased = [
        record.model_copy(update=bare) if isinstance(record, ModelCallFinished) else record
        for record in log.records
    ]
    assert contents(absorbed(erased).prompt().messages) == ["hi"]


# --- the check ---------------------------------------------------------------------------------------------


def test_a_fault_names_the_record_behind_it() -> None:
    said = (UserMessage(content="hi"), SystemMessage(content="late"))
    assert Prompt(said, (Origin(RUN, 1), Origin(RUN, 5))).check() == PromptFault(
        RUN, 5, "a system message that is not the first"
    )


def test_what_is_missing_at_the_end_is_the_fault_of_the_last_record() -> None:
    call = ToolCall(id=ToolCallId("call_1"), name="look")
    said = (UserMessage(content="hi"), AssistantMessage(parts=(call,), source=SOURCE))
    fault = Prompt(said, (Origin(RUN, 1), Origin(RUN, 4))).check()
    assert fault is not None
    assert fault.seq == 4


def test_a_check_looks_at_what_no_checked_prompt_had(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at: list[int] = []

    def counting(messages: Sequence[Message]) -> None:
        looked_at.append(len(messages))
        check_conversation(messages)

    monkeypatch.setattr(module, "check_conversation", counting)
    log = Log(message="hi")
    conversation = absorbed(log.records)
    for turn in range(3):
        seen = len(log.records)
        log.ask()
        log.run(log.answer(("look", "{}"))[0], turn)
        for record in log.records[seen:]:
            conversation.absorb(record)
        conversation.prompt()
        conversation.prompt().check()
        conversation.prompt().check()
    assert looked_at == [3, 0, 2, 0, 2, 0]


def test_a_fault_is_found_again_until_it_is_gone() -> None:
    sent = Prompt(
        (UserMessage(content="hi"), SystemMessage(content="late")), (Origin(RUN, 1), Origin(RUN, 5))
    )
    assert sent.check() == sent.check() is not None


# --- any legal log -----------------------------------------------------------------------------------------


@settings(max_examples=150, deadline=None)
@given(log=logs(), system=HOSTILE)
def test_each_prompt_of_a_legal_log_is_sound_and_a_prefix_of_the_next(log: Log, system: str) -> None:
    conversation = Conversation(system)
    before: tuple[Message, ...] = ()
    for record in log.records:
        conversation.absorb(record)
        sent = conversation.prompt()
        assert sent.check() is None
        assert sent.messages[: len(before)] == before
        before = sent.messages
    assert_wirable(before)
    assert conversation.prompt() == absorbed(log.records, system).prompt()


def assert_wirable(messages: Sequence[Message]) -> None:
    """A strict provider takes them whole, and every text has UTF-8."""
    check_conversation(messages)
    for message in messages:
        message.model_dump_json()
        if isinstance(message, ToolResultMessage):
            assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", message.name)
        if isinstance(message, AssistantMessage):
            assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", call.name) for call in message.tool_calls)


@settings(max_examples=50, deadline=None)
@given(log=logs())
def test_every_result_reaches_the_model_once_its_turn_is_whole(log: Log) -> None:
    results = {
        one.call_id for one in absorbed(log.records).prompt().messages if isinstance(one, ToolResultMessage)
    }
    open_turn = log.state.lanes[""].turn if log.state.calls else None
    whole = {
        record.call_id
        for record in log.records
        if isinstance(record, ToolCallFinished) and record.turn != open_turn
    }
    assert results == whole
