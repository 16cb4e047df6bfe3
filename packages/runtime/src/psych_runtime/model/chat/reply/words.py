"""Why a model stopped, in the words of every provider."""

from __future__ import annotations

from psych_runtime.model.chat.reply.faults import Unreadable
from psych_runtime_core.messages import FinishReason

_MEANING: dict[FinishReason, tuple[str, ...]] = {
    FinishReason.STOP: ("stop", "end_turn", "stop_sequence", "eos", "complete", "completed"),
    FinishReason.TOOL_CALLS: ("tool_calls", "tool_use", "function_call"),
    FinishReason.LENGTH: (
        "length",
        "max_tokens",
        "max_output_tokens",
        "model_length",
        "model_context_window_exceeded",
    ),
    FinishReason.CONTENT_FILTER: (
        "content_filter",
        "safety",
        "recitation",
        "blocklist",
        "prohibited_content",
        "spii",
        "sensitive",
        "guardrail_intervened",
    ),
    FinishReason.REFUSAL: ("refusal",),
    FinishReason.PAUSE: ("pause_turn",),
}
_FAILED = (
    "error",
    "network_error",
    "server_error",
    "insufficient_system_resource",
    "abort",
    "aborted",
    "cancelled",
    "canceled",
    "malformed_function_call",
)
_IGNORED = str.maketrans("", "", "-_ ")


def finish_of(word: str | None, *, calls: bool, only_refusal: bool) -> FinishReason:
    """What the end of an answer means: `word` is the provider's, None when it gave none.

    `calls`: the answer holds tool calls; `only_refusal`: it holds a refusal, and neither text, calls nor
    media. Raises `Unreadable` for a word that says the provider failed.
    """
    plain = _plain(word or "")
    if says_failure(word):
        raise Unreadable(word or plain, f"the provider broke off its answer with the finish reason {word!r}")
    if only_refusal:
        return FinishReason.REFUSAL
    reason = _REASONS.get(plain, FinishReason.STOP)
    if reason in (FinishReason.STOP, FinishReason.TOOL_CALLS):
        return FinishReason.TOOL_CALLS if calls else FinishReason.STOP
    return reason


def says_failure(word: str | None) -> bool:
    """Whether a finish reason says that the provider broke its answer off."""
    return _plain(word or "") in _FAILURES


def _plain(word: str) -> str:
    return word.casefold().translate(_IGNORED)


_REASONS = {_plain(word): reason for reason, words in _MEANING.items() for word in words}
_FAILURES = frozenset(map(_plain, _FAILED))
