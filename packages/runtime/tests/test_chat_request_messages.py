"""What each message becomes: arguments, ids, private matter, media."""

from __future__ import annotations

import re
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from packages.runtime.tests.chat_bodies import (
    FOREIGN,
    PDF,
    PNG,
    WAV,
    answer,
    call,
    conversation,
    result,
    source,
    terms,
    wire,
)
from psych_runtime.model.chat.request.limits import Unsendable
from psych_runtime_core.jsonvalue import Json
from psych_runtime_core.messages import (
    FilePart,
    ImagePart,
    Media,
    Message,
    OpaquePart,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCall,
    UserMessage,
)

# --- arguments -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("raw", "sent"),
    [
        pytest.param("", "{}", id="none"),
        pytest.param(" \n", "{}", id="blank"),
        pytest.param("{}", "{}", id="an empty object"),
        pytest.param('{ "a" : 1.50 }', '{ "a" : 1.50 }', id="an object, to the byte"),
        pytest.param('{"a":1,"a":2}', '{"a":1,"a":2}', id="a key that stands twice"),
        pytest.param('{"a":12345678901234567890123}', '{"a":12345678901234567890123}', id="a long integer"),
        pytest.param(r'{"a":"\ud800"}', r'{"a":"\ud800"}', id="half a character, escaped"),
        pytest.param("[1]", '{"malformed_arguments":"[1]"}', id="an array"),
        pytest.param('"{}"', r'{"malformed_arguments":"\"{}\""}', id="encoded twice"),
        pytest.param('{"a":', r'{"malformed_arguments":"{\"a\":"}', id="cut short"),
        pytest.param("{} {}", '{"malformed_arguments":"{} {}"}', id="two objects"),
        pytest.param('{"a":NaN}', r'{"malformed_arguments":"{\"a\":NaN}"}', id="NaN"),
        pytest.param("x" * 2_001, '{"malformed_arguments":"' + "x" * 2_000 + '"}', id="a long text"),
        pytest.param("[" * 5_000, '{"malformed_arguments":"' + "[" * 2_000 + '"}', id="endless nesting"),
    ],
)
def test_arguments_are_always_one_object(raw: str, sent: str) -> None:
    spoken = wire([answer(call(arguments=raw)), result()])
    assert spoken[0]["tool_calls"][0]["function"]["arguments"] == sent


# --- ids -----------------------------------------------------------------------------------------------


def ids(*calls: ToolCall, own: bool = True, dialect: str = "other") -> list[str]:
    """The ids on the wire, of calls made one after another; results must carry the same."""
    by = source(dialect) if own else FOREIGN
    said: list[Message] = []
    for each in calls:
        said += [answer(each, by=by), result(each.id)]
    sent = wire(said, terms(dialect))
    answered = [message["tool_call_id"] for message in sent if message["role"] == "tool"]
    assert answered == [message["tool_calls"][0]["id"] for message in sent if "tool_calls" in message]
    return answered


LONG = "s" * 3_000
ODD = "call:1"
HASHED = "call_" + sha256(ODD.encode()).hexdigest()[:24]


@pytest.mark.parametrize(
    ("calls", "own", "expected"),
    [
        pytest.param((call("a", given="p1"), call("b", given="p2")), True, ["p1", "p2"], id="its own"),
        pytest.param((call("a", given=LONG),), True, [LONG], id="a signature inside its own"),
        pytest.param((call("a", given=LONG),), False, ["a"], id="somebody else's"),
        pytest.param(
            (call("a"), call("b", given=""), call("c", given=" ")), True, ["a", "b", "c"], id="none"
        ),
        pytest.param((call("a", given="p"), call("b", given="p")), True, ["p", "b"], id="one given twice"),
        pytest.param((call("a"), call("b", given="a")), True, ["a", "b"], id="one that is ours already"),
        pytest.param(
            (call("a", given="b"), call("b")),
            True,
            ["b", "call_" + sha256(b"b").hexdigest()[:24]],
            id="ours, given before",
        ),
        pytest.param((call(ODD),), True, [HASHED], id="ours, of odd characters"),
        pytest.param(
            (call("x" * 41),), True, ["call_" + sha256(b"x" * 41).hexdigest()[:24]], id="ours, too long"
        ),
    ],
)
def test_a_call_has_one_id_on_the_wire(calls: tuple[ToolCall, ...], own: bool, expected: list[str]) -> None:
    assert ids(*calls, own=own) == expected


def test_a_provider_of_short_ids_gets_nine_characters_for_each_call() -> None:
    nine = sha256(b"a").hexdigest()[:9]
    assert ids(call("a", given="far too long"), dialect="mistral") == [nine]
    assert ids(call("a", given="AbCdEfGh1"), dialect="mistral") == ["AbCdEfGh1"]
    # The very id that the next call would get is taken by a provider's own.
    assert ids(call("b", given=nine), call("a"), dialect="mistral") == [nine, sha256(b"a").hexdigest()[1:10]]


@given(st.lists(st.text(max_size=4) | st.none(), min_size=1, max_size=30), st.booleans())
def test_whatever_a_provider_gives_for_ids_each_call_has_its_own(
    given_ids: list[str | None], own: bool
) -> None:
    for dialect, form in (("other", r"(?s).+"), ("mistral", "[A-Za-z0-9]{9}")):
        sent = ids(*(call(f"c{n}", given=each) for n, each in enumerate(given_ids)), own=own, dialect=dialect)
        assert len(set(sent)) == len(given_ids)
        assert all(re.fullmatch(form, each) for each in sent)


# --- private matter ------------------------------------------------------------------------------------


def thought(text: str = "Hm.", **origin: Json) -> ReasoningPart:
    return ReasoningPart(text=text, opaque={"field": "reasoning_content", **origin})


ITEMS = [
    {"type": "reasoning.text", "text": "Hm.", "signature": "s"},
    {"type": "reasoning.encrypted", "data": "e"},
]


@pytest.mark.parametrize(
    ("parts", "fields"),
    [
        pytest.param((thought(),), {"reasoning_content": "Hm."}, id="text in the usual field"),
        pytest.param(
            (ReasoningPart(text="Hm."),), {"reasoning_content": "Hm."}, id="text of no stated field"
        ),
        pytest.param((thought(field="reasoning"),), {"reasoning": "Hm."}, id="text in another field"),
        pytest.param(
            (thought(), thought("Ah.")), {"reasoning_content": "Hm.Ah."}, id="two thoughts of one field"
        ),
        pytest.param(
            (thought(field="reasoning_details"), thought("", field="reasoning_details", items=ITEMS)),
            {"reasoning_details": ITEMS},
            id="items come back whole, the text shown out of them does not",
        ),
        pytest.param((thought(field="thinking_blocks"),), {}, id="text whose items were lost"),
        pytest.param(
            (OpaquePart(kind="reasoning", opaque={"field": "reasoning", "value": {"sealed": "x"}}),),
            {"reasoning": {"sealed": "x"}},
            id="what had no readable form",
        ),
        pytest.param((OpaquePart(kind="strange", opaque="x"),), {}, id="opaque matter of another wire"),
        pytest.param(
            (ReasoningPart(text="Hm.", opaque=7),), {"reasoning_content": "Hm."}, id="a strange mark"
        ),
    ],
)
def test_reasoning_goes_back_into_the_field_it_came_from(
    parts: tuple[Any, ...], fields: dict[str, Any]
) -> None:
    (sent,) = wire([answer(*parts, "Yes", by=source("openrouter"))], terms("openrouter"))
    assert sent == {"role": "assistant", "content": [{"type": "text", "text": "Yes"}], **fields}


def test_thoughts_inside_the_content_go_back_to_their_place() -> None:
    parts = (
        thought(field="content", form="parts"),
        TextPart(text="Yes"),
        OpaquePart(kind="reference", opaque={"field": "content", "part": {"type": "reference", "ids": [1]}}),
        thought("Ah.", field="content", form="text", extra={"signature": "s"}),
    )
    (sent,) = wire([answer(*parts, by=source("mistral"))], terms("mistral"))
    assert sent["content"] == [
        {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]},
        {"type": "text", "text": "Yes"},
        {"type": "reference", "ids": [1]},
        {"type": "thinking", "thinking": "Ah.", "signature": "s"},
    ]


PRIVATE = (
    thought(),
    thought("In.", field="content", form="parts"),
    OpaquePart(kind="x", opaque={"field": "content", "part": {"type": "x"}}),
    TextPart(text="Yes"),
    call("a", given="p", opaque={"call": {"extra_content": {"s": 1}}, "function": {"signature": "s"}}),
)


@pytest.mark.parametrize("dialect", ["other", "mistral", "openrouter", "deepseek", "openai"])
def test_nothing_private_reaches_another_source(dialect: str) -> None:
    here = source(dialect)
    strangers = [FOREIGN, here.model_copy(update={"model": "m-2"}), here.model_copy(update={"provider": "x"})]
    for stranger in strangers:
        sent = wire([answer(*PRIVATE, by=stranger), result("a")], terms(dialect))[0]
        if dialect == "openrouter":
            sent["content"] = sent["content"][0]["text"]
        nine = sha256(b"a").hexdigest()[:9]
        function = {"name": "look", "arguments": "{}"}
        call_id = nine if dialect == "mistral" else "a"
        assert sent == {
            "role": "assistant",
            "content": "Yes",
            "tool_calls": [{"id": call_id, "type": "function", "function": function}],
        }


@pytest.mark.parametrize("dialect", ["gemini", "openai", "other", "openrouter"])
def test_the_further_keys_of_a_call_go_back_to_its_source_in_their_place(dialect: str) -> None:
    sent = wire([answer(*PRIVATE, by=source(dialect)), result("a")], terms(dialect))[0]
    function = {"name": "look", "arguments": "{}", "signature": "s"}
    assert sent["tool_calls"] == [
        {"id": "p", "type": "function", "function": function, "extra_content": {"s": 1}}
    ]


def test_with_tool_turns_each_call_shows_its_thought_once_one_did() -> None:
    said = conversation(
        answer(call("a")),
        result("a"),
        answer(thought(field="reasoning"), call("b")),
        result("b"),
        answer(thought(), "No call, so no thought."),
        UserMessage(content="Go on"),
        answer(call("c"), by=FOREIGN),
        result("c"),
        answer(call("d")),
        result("d"),
    )
    sent = [message for message in wire(said) if message["role"] == "assistant"]
    assert [message.get("reasoning") for message in sent] == [None, "Hm.", None, None, ""]
    assert not any("reasoning_content" in message for message in sent)


def test_a_refusal_is_text_where_there_is_no_other() -> None:
    alone, beside = wire([answer(RefusalPart(text="No.")), answer("Well.", RefusalPart(text="No."))])
    assert (alone["content"], beside["content"]) == ("No.", "Well.")


def test_half_a_character_never_leaves() -> None:
    odd = call("a", opaque={"call": {"x": "\ud800"}})
    assert wire([answer(odd), result("a")])[0]["tool_calls"][0]["x"] == "\ufffd"


# --- media ---------------------------------------------------------------------------------------------

PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw=="}}
DOCUMENT = {
    "type": "file",
    "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERg=="},
}
BY_URL = Media(media_type="image/png", url="https://example.com/a.png")


@pytest.mark.parametrize(
    ("part", "block"),
    [
        pytest.param(TextPart(text="x"), {"type": "text", "text": "x"}, id="text"),
        pytest.param(ImagePart(media=PNG), PICTURE, id="a picture"),
        pytest.param(FilePart(media=PNG, name="a.png"), PICTURE, id="a picture in a file"),
        pytest.param(
            ImagePart(media=BY_URL, detail="low"),
            {"type": "image_url", "image_url": {"url": "https://example.com/a.png", "detail": "low"}},
            id="a picture by URL, in low detail",
        ),
        pytest.param(FilePart(media=PDF, name="a.pdf"), DOCUMENT, id="a document"),
        pytest.param(
            FilePart(media=WAV, name="a.wav"),
            {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}},
            id="sound",
        ),
        pytest.param(
            FilePart(media=Media(media_type="audio/mpeg", data=b"ID3"), name="a.mp3"),
            {"type": "input_audio", "input_audio": {"data": "SUQz", "format": "mp3"}},
            id="sound of another kind",
        ),
    ],
)
def test_a_part_of_a_message_is_a_block(part: TextPart | ImagePart | FilePart, block: dict[str, Any]) -> None:
    (sent,) = wire([UserMessage(content=(ImagePart(media=PNG), part))])
    assert sent["content"] == [PICTURE, block]


@pytest.mark.parametrize(
    ("part", "code"),
    [
        pytest.param(
            FilePart(media=Media(media_type="video/mp4", data=b"x"), name="v"),
            "unsupported_input",
            id="video",
        ),
        pytest.param(
            FilePart(media=Media(media_type="audio/ogg", data=b"x"), name="v"),
            "unsupported_input",
            id="odd sound",
        ),
        pytest.param(
            FilePart(media=Media(media_type="application/pdf", url="https://example.com/a.pdf"), name="a"),
            "unsupported_input",
            id="a document by URL",
        ),
        pytest.param(
            ImagePart(media=Media(media_type="image/png", blob_key="k1")),
            "media_missing",
            id="a blob that was not read",
        ),
    ],
)
@pytest.mark.parametrize("where", ["user", "result"])
def test_what_cannot_be_carried_is_not_sent(part: ImagePart | FilePart, code: str, where: str) -> None:
    said: list[Message] = [UserMessage(content=(part,))]
    if where == "result":
        said = [answer(call()), result("c1", (part,))]
    with pytest.raises(Unsendable) as refused:
        wire(said)
    assert refused.value.code == code


def test_media_of_results_move_behind_the_last_result_of_their_turn() -> None:
    shown = (TextPart(text="Here"), ImagePart(media=PNG))
    said = conversation(
        answer(call("a"), call("b"), call("c")),
        result("a", shown),
        result("b", "nothing"),
        result("c", (FilePart(media=PDF, name="a.pdf"),)),
        UserMessage(content="And?"),
    )
    sent = wire(said)[1:]
    assert [message["role"] for message in sent] == ["tool", "tool", "tool", "user", "user"]
    assert [message["content"] for message in sent[:3]] == ["Here", "nothing", ""]
    heading = {"type": "text", "text": "From look:"}
    assert sent[3]["content"] == [heading, PICTURE, heading, DOCUMENT]


def test_media_stay_in_a_result_where_the_model_takes_them_there() -> None:
    said = conversation(answer(call()), result("c1", (TextPart(text="Here"), ImagePart(media=PNG))))
    sent = wire(said, terms(tool_result_media=True))
    assert len(sent) == 2
    assert sent[1]["content"] == [{"type": "text", "text": "Here"}, PICTURE]


def test_a_picture_that_a_model_made_is_shown_to_it_in_the_next_turn() -> None:
    said = conversation(answer("Look:", ImagePart(media=PNG)), UserMessage(content="Darker, please"))
    sent = wire(said)
    assert [message["role"] for message in sent] == ["assistant", "user", "user"]
    assert sent[1]["content"] == [{"type": "text", "text": "From the assistant:"}, PICTURE]


def test_a_user_may_have_a_name() -> None:
    assert wire([UserMessage(content="hi", name="ada")]) == [{"role": "user", "name": "ada", "content": "hi"}]
