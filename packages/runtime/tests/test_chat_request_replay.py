"""What was heard goes back as it came: a stream, its message, and the next request."""

from __future__ import annotations

import json
from typing import Any

import pytest

from packages.runtime.tests.chat_bodies import FOREIGN, conversation, result, source, terms, wire
from psych_runtime.model.chat.reply.stream import ChatStream
from psych_runtime.model.errors.replies import CallErrors
from psych_runtime.testing.assemble import assemble
from psych_runtime_core.messages import AssistantMessage

ITEMS = [
    {"type": "reasoning.summary", "summary": "I looked.", "index": 0},
    {"type": "reasoning.encrypted", "data": "c2VhbGVk", "index": 1},
]
THINKING = {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}], "closed": True}
BLOCKS = [{"type": "thinking", "thinking": "Hm.", "signature": "sig"}]
CALL = {"index": 0, "id": "p1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
SIGNED = {**CALL, "extra_content": {"google": {"thought_signature": "sig"}}}


def heard(*deltas: dict[str, Any]) -> AssistantMessage:
    """The message of a stream of these deltas."""
    chat = ChatStream(CallErrors(provider="other", model="m-1"))
    chunks = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    events = [event for chunk in chunks for event in chat.feed(chunk)]
    return assemble([*events, *chat.end(True)])


def sent_back(message: AssistantMessage, dialect: str) -> dict[str, Any]:
    """The message as its own source gets it in the next request."""
    own = message.model_copy(update={"source": source(dialect)})
    results = [result(call.id) for call in message.tool_calls]
    return wire(conversation(own, *results), terms(dialect))[0]


@pytest.mark.parametrize(
    ("dialect", "deltas", "fields"),
    [
        pytest.param(
            "deepseek",
            [{"reasoning_content": "H"}, {"reasoning_content": "m."}, {"tool_calls": [CALL]}],
            {"reasoning_content": "Hm.", "content": ""},
            id="thoughts before a call",
        ),
        pytest.param(
            "other",
            [{"reasoning": "Hm."}, {"content": "So"}, {"tool_calls": [CALL]}],
            {"reasoning": "Hm.", "content": "So"},
            id="thoughts in the other field",
        ),
        pytest.param(
            "openrouter",
            [{"reasoning_details": ITEMS[:1]}, {"reasoning_details": ITEMS[1:]}, {"tool_calls": [CALL]}],
            {"reasoning_details": ITEMS},
            id="items, sealed ones too",
        ),
        pytest.param(
            "openrouter",
            [{"thinking_blocks": BLOCKS}, {"content": "Yes"}],
            {"thinking_blocks": BLOCKS},
            id="signed blocks",
        ),
        pytest.param(
            "mistral",
            [{"content": [THINKING]}, {"content": "Yes"}],
            {"content": [THINKING, {"type": "text", "text": "Yes"}]},
            id="thoughts inside the content",
        ),
    ],
)
def test_thoughts_go_back_to_their_source_as_they_came(
    dialect: str, deltas: list[dict[str, Any]], fields: dict[str, Any]
) -> None:
    sent = sent_back(heard(*deltas), dialect)
    assert {key: sent.get(key) for key in fields} == fields


def test_a_signature_on_a_call_goes_back_to_its_place_and_to_nobody_else() -> None:
    message = heard({"tool_calls": [SIGNED]})
    assert sent_back(message, "gemini")["tool_calls"] == [{k: v for k, v in SIGNED.items() if k != "index"}]
    foreign = message.model_copy(update={"source": FOREIGN})
    plain = {"id": "call_0", "type": "function", "function": CALL["function"]}
    assert wire([foreign, result("call_0")])[0]["tool_calls"] == [plain]


def test_the_same_message_is_the_same_bytes_after_it_was_stored() -> None:
    message = heard({"reasoning_details": ITEMS}, {"content": "ü\u2028\x00"}, {"tool_calls": [SIGNED]})
    again = AssistantMessage.model_validate_json(message.model_dump_json())
    assert json.dumps(sent_back(message, "openrouter")) == json.dumps(sent_back(again, "openrouter"))
