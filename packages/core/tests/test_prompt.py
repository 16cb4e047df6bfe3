"""What a lane's model is sent, message by message."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packages.core.tests.plans import plan
from packages.core.tests.pump import Pump
from packages.core.tests.stories import RUN, Story, begun, erased
from packages.core.tests.tape import Tape, tapes
from packages.core.tests.world import World
from psych_runtime_core.engine import prompt as module
from psych_runtime_core.engine import wording
from psych_runtime_core.engine.conversation import Conversation
from psych_runtime_core.engine.media import stored_media
from psych_runtime_core.engine.prompt import Origin, Prompt, PromptFault, system_prompt
from psych_runtime_core.ids import ToolCallId
from psych_runtime_core.messages import (
    AssistantMessage,
    AssistantPart,
    ImagePart,
    Media,
    Message,
    ModelSource,
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
from psych_runtime_core.records.facts import ToolFailure, ToolOutcome
from psych_runtime_core.records.queue import QueueEnqueued
from psych_runtime_core.records.run import RunAdmitted
from psych_runtime_core.records.tool import ToolCallFinished
from psych_runtime_core.records.turn import ModelCallFinished
from psych_runtime_core.spec.agent import AgentSpec
from psych_runtime_core.spec.model import ModelRef
from psych_runtime_core.state.fold import fold

SOURCE = ModelSource(provider="test", model="m")


def absorbed(records: Sequence[Record], system: str = "") -> Conversation:
    conversation = Conversation(system)
    for record in records:
        conversation.absorb(record)
    return conversation


def messages_of(log: Story, system: str = "") -> tuple[Message, ...]:
    sent = absorbed(log.records, system).prompt()
    assert sent.check() is None
    return sent.messages


def contents(messages: Sequence[Message]) -> list[str]:
    return [one.content if isinstance(one, SystemMessage) else one.text for one in messages]


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
    assert messages_of(begun(), "Be brief.") == (
        SystemMessage(content="Be brief."),
        UserMessage(content="hello"),
    )


def test_an_empty_input_and_an_empty_system_prompt_are_left_out() -> None:
    assert messages_of(Story().admitted({})) == ()


def test_a_message_stands_where_it_was_consumed_and_not_before() -> None:
    log = begun().asks().sends("e1", "first").sends("e1", "the same entry again").sends("e2", "second")
    log.says("Yes.")
    assert contents(messages_of(log)) == ["hello", "Yes."]
    assert contents(messages_of(log.asks("e1", "e2"))) == ["hello", "Yes.", "first", "second"]


def test_a_failed_try_leaves_nothing() -> None:
    assert contents(messages_of(begun().asks().model_failed().model_started())) == ["hello"]


def test_records_of_another_lane_are_passed_over() -> None:
    *others, said = begun().asks().says("Yes.").records
    foreign = said.model_copy(update={"lane": "step"})
    assert contents(absorbed([*others, foreign]).prompt().messages) == ["hello"]


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
    whole = AssistantMessage(parts=tuple(parts), source=SOURCE)
    assert messages_of(begun().asks().says(message=whole))[1:] == ((whole,) if kept else ())


def test_results_are_released_in_call_order_when_the_last_is_in() -> None:
    log = begun().asks().says("Doing.", ("a", {}), ("b", {}), ("c", {})).runs(2, {"n": 3}).runs(0, "one")
    assert contents(messages_of(log)) == ["hello"]
    said = messages_of(log.refused(1))
    assert contents(said) == ["hello", "Doing.", "one", "it was refused", '{"n":3}']
    results = [one for one in said if isinstance(one, ToolResultMessage)]
    assert [(one.call_id, one.name, one.is_error) for one in results] == [
        (log.call_of(0), "a", False),
        (log.call_of(1), "b", True),
        (log.call_of(2), "c", False),
    ]


def test_each_message_names_the_record_behind_it() -> None:
    log = begun().asks().says("", ("a", {}), ("b", {})).runs(1).runs(0)
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


def edited() -> Story:
    """A person has put other arguments in place of a call's, and it has begun."""
    log = begun().asks().says("", ("pay", {"amount": 900})).suspended()
    return log.resumed(arguments={"amount": 90}).tool_started(safe_to_retry=True)


def test_a_result_of_edited_arguments_says_first_that_a_person_changed_them() -> None:
    for log in (edited(), edited().attempt().tool_started(safe_to_retry=True)):
        told = contents(messages_of(log.tool_finished(0, "paid")))[-1]
        assert told == wording.edited({"amount": 90}) + "paid"


def test_a_result_has_its_text_and_those_of_its_files_that_the_model_takes() -> None:
    picture = ImagePart(media=Media(media_type="image/png", data=b"\x89PNG"))
    log = begun().asks().says("", ("draw", {})).tool_started().tool_finished(0, "drawn", media=(picture,))
    without = begun().asks().says("", ("draw", {})).runs(0, "drawn")
    results = [messages_of(one)[-1] for one in (log, without)]
    contents_of = [one.content for one in results if isinstance(one, ToolResultMessage)]
    assert contents_of == [(TextPart(text="drawn"), picture), "drawn"]


def test_a_repeated_call_is_told_the_answer_it_has() -> None:
    log = begun()
    for result in ("41", "42"):
        log.asks().says("", ("look", {})).runs(0, result)
    log.asks().says("", ("look", {}), ("look", {"a": 1}))
    log.refused(0, "repeated_call").refused(1, "repeated_call")
    refusal = "it was refused"
    assert contents(messages_of(log))[-2:] == [refusal + wording.known_answer("42"), refusal]


def test_the_answer_of_an_edited_call_is_that_of_the_call_it_became() -> None:
    log = edited().tool_finished(0, "paid").asks().says("", ("pay", {"amount": 900}))
    assert contents(messages_of(log.refused(0, "repeated_call")))[-1] == "it was refused"


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
    _, answer, result = messages_of(begun().asks().says("", (name, {})).refused())
    assert isinstance(answer, AssistantMessage)
    assert isinstance(result, ToolResultMessage)
    assert answer.tool_calls[0].name == result.name == plain


def test_an_answer_that_needs_no_change_is_the_record_s_own_message() -> None:
    log = begun().asks().says("", ("look", "{")).refused()
    finished = next(record for record in log.records if isinstance(record, ModelCallFinished))
    assert messages_of(log)[1] is finished.message


def test_an_erased_answer_takes_its_results_along() -> None:
    log = begun().asks().says("", ("look", {})).runs()
    assert [one.role for one in messages_of(log)] == ["user", "assistant", "tool"]
    assert absorbed(erased(log)).prompt().messages == ()


def test_a_prompt_is_made_once_until_something_is_said_or_asked_otherwise() -> None:
    log = begun().asks()
    said = len(log.records)
    conversation = absorbed(log.records)
    sent = conversation.prompt()
    assert conversation.prompt() is sent
    noticed = conversation.prompt(notices=("one call is left",))
    assert contents(noticed.messages) == ["hello\n\n[one call is left]"]
    assert conversation.prompt("Answer in JSON.").has_system
    assert conversation.prompt() == sent
    for record in log.says("Yes.").records[said:]:
        conversation.absorb(record)
    assert contents(conversation.prompt().messages) == ["hello", "Yes."]


def test_a_prompt_says_where_it_shows_what_stands_in_blobs() -> None:
    log = begun().asks().says("", ("draw", {}), ("look", {})).runs(1).runs(0)
    media = Media(media_type="image/png", blob_key="call_9.1")
    *others, drawn = log.records
    drawn = drawn.model_copy(update={"media": (ImagePart(media=media),)})
    sent = absorbed([*others, drawn], "Be brief.").prompt()
    assert [message.role for message in sent.messages] == ["system", "user", "assistant", "tool", "tool"]
    assert sent.media == (3,)
    assert stored_media(sent.messages[3]) == {"call_9.1": media}


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
    log = begun()
    conversation = absorbed(log.records)
    for turn in range(3):
        seen = len(log.records)
        log.asks().says("", ("look", {})).runs(0, turn)
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


# --- any history -------------------------------------------------------------------------------------------

HOSTILE = ("", " ", "\x00", "\ud800", "\ud83d\ude00", "\x1b[0m", "</s>", "a.b", "y" * 100_000)


def history(tape: Tape, words: Tape) -> list[Record]:
    """The log of a Run, up to any record, in which people, models and tools say hostile things."""
    pump = Pump(World(tape, plan("b", failure_streak_threshold=2, repeat_call_threshold=2)))
    pump.run()
    return [spoken(record, words) for record in pump.log[: len(pump.log) - words.below(len(pump.log))]]


def spoken(record: Record, tape: Tape) -> Record:
    """`record` with other words."""
    word = tape.one_of(HOSTILE)
    told: dict[str, object] = {}
    match record:
        case RunAdmitted():
            told = {"input": tape.one_of(({"message": word}, {}))}
        case QueueEnqueued():
            told = {"payload": tape.one_of(({"text": word}, {}))}
        case ModelCallFinished():
            said = [kind(text=tape.one_of(HOSTILE)) for kind in (TextPart, ReasoningPart, RefusalPart)]
            calls = [ToolCall(id=call.id, name=word, arguments=word) for call in record.tool_calls]
            told = {"message": record.message.model_copy(update={"parts": (*said[tape.below(4) :], *calls)})}
        case ToolCallFinished(outcome=ToolOutcome.OK):
            told = {"result": tape.one_of((word, [word], {word: None}))}
        case ToolCallFinished(failure=ToolFailure() as failure):
            told = {"failure": failure.model_copy(update={"message": word})}
        case _:
            pass
    return record.model_copy(update=told)


histories = st.builds(history, tapes(500), tapes(200))


def test_each_prompt_of_a_history_is_sound_and_a_prefix_of_the_next() -> None:
    met: set[str] = set()

    @given(log=histories, system=st.sampled_from(HOSTILE))
    @settings(max_examples=300)
    def prompts(log: list[Record], system: str) -> None:
        conversation = Conversation(system)
        before: tuple[Message, ...] = ()
        for record in log:
            conversation.absorb(record)
            sent = conversation.prompt()
            assert sent.check() is None
            assert sent.messages[: len(before)] == before
            before = sent.messages
        assert_wirable(before)
        assert conversation.prompt() == absorbed(log, system).prompt()
        met.update(one.role for one in before)
        met.update(text for text in ("A person changed", "The answer it gave") if text in str(before))

    prompts()
    assert met == {"system", "user", "assistant", "tool", "A person changed", "The answer it gave"}


def assert_wirable(messages: Sequence[Message]) -> None:
    """A strict provider takes them whole, and every text has UTF-8."""
    check_conversation(messages)
    for message in messages:
        message.model_dump_json()
        if isinstance(message, ToolResultMessage):
            assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", message.name)
        if isinstance(message, AssistantMessage):
            assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", call.name) for call in message.tool_calls)


@given(histories)
@settings(max_examples=100)
def test_every_result_reaches_the_model_once_its_turn_is_whole(log: list[Record]) -> None:
    open_calls = fold(log, run_id=log[0].run_id).calls
    open_turn = next((call.turn for call in open_calls.values()), None)
    results = {one.call_id for one in absorbed(log).prompt().messages if isinstance(one, ToolResultMessage)}
    whole = {
        record.call_id for record in log if isinstance(record, ToolCallFinished) and record.turn != open_turn
    }
    assert results == whole
