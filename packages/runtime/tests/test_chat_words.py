"""Finish reasons in the words of every provider."""

from __future__ import annotations

import pytest

from psych_runtime.model.chat.reply.faults import Unreadable
from psych_runtime.model.chat.reply.words import finish_of
from psych_runtime_core.errors import ModelErrorKind
from psych_runtime_core.messages import FinishReason

WORDS: dict[FinishReason, str] = {
    FinishReason.STOP: "stop end_turn stop_sequence eos complete completed banana tool_calls",
    FinishReason.LENGTH: "length max_tokens max_output_tokens model_length model_context_window_exceeded",
    FinishReason.CONTENT_FILTER: (
        "content_filter safety recitation blocklist prohibited_content spii sensitive guardrail_intervened"
    ),
    FinishReason.REFUSAL: "refusal",
    FinishReason.PAUSE: "pause_turn",
}
CASES = [pytest.param(word, reason, id=word) for reason, words in WORDS.items() for word in words.split()]


@pytest.mark.parametrize(("word", "reason"), CASES)
def test_words_have_a_meaning_in_any_spelling(word: str, reason: FinishReason) -> None:
    for spelling in (word, word.upper(), word.replace("_", "-"), word.title().replace("_", "")):
        assert finish_of(spelling, calls=False, only_refusal=False) is reason


@pytest.mark.parametrize("word", [None, "", "stop", "tool_calls", "tool_use", "function_call", "banana"])
def test_an_end_with_calls_is_tool_calls(word: str | None) -> None:
    assert finish_of(word, calls=True, only_refusal=False) is FinishReason.TOOL_CALLS
    assert finish_of(word, calls=False, only_refusal=False) is FinishReason.STOP


@pytest.mark.parametrize(("word", "reason"), CASES)
def test_calls_do_not_hide_another_end(word: str, reason: FinishReason) -> None:
    expected = FinishReason.TOOL_CALLS if reason is FinishReason.STOP else reason
    assert finish_of(word, calls=True, only_refusal=False) is expected


@pytest.mark.parametrize("word", [None, "stop", "length", "banana"])
def test_an_answer_that_is_nothing_but_a_refusal_ends_as_one(word: str | None) -> None:
    assert finish_of(word, calls=False, only_refusal=True) is FinishReason.REFUSAL


@pytest.mark.parametrize(
    "word",
    [
        *("error", "network_error", "server_error", "insufficient_system_resource"),
        *("abort", "cancelled", "Malformed_Function-Call"),
    ],
)
def test_a_word_for_a_failure_is_one_that_may_be_tried_again(word: str) -> None:
    with pytest.raises(Unreadable, match=word) as caught:
        finish_of(word, calls=True, only_refusal=False)
    assert (caught.value.kind, caught.value.code) == (ModelErrorKind.TRANSIENT, word)
