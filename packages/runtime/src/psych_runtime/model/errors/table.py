"""What an error of a provider means: one table, read from the top, the first row that fits."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from psych_runtime.failures.statuses import AUTH_STATUSES, TRANSIENT_STATUSES
from psych_runtime_core.errors import ModelErrorKind

Status: TypeAlias = int | None
"""None is that of an error inside a reply that began well."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What an error is judged by: its status, its codes and types, and its words, all in lower case."""

    status: Status
    names: frozenset[str] = frozenset()
    words: str = ""


@dataclass(frozen=True, slots=True)
class Phrases:
    """Words that mean something under these statuses alone."""

    under: frozenset[Status]
    pattern: re.Pattern[str]


@dataclass(frozen=True, slots=True)
class Row:
    """A kind of error and what tells it: a status, a code or type, or words. None of the three: any error.

    `code` replaces the provider's own, `advice` what is usual for the kind.
    """

    kind: ModelErrorKind
    statuses: frozenset[Status] = frozenset()
    names: frozenset[str] = frozenset()
    phrases: tuple[Phrases, ...] = ()
    code: str | None = None
    advice: str | None = None

    def fits(self, seen: Seen) -> bool:
        if not (self.statuses or self.names or self.phrases):
            return True
        return (
            seen.status in self.statuses
            or not self.names.isdisjoint(seen.names)
            or any(seen.status in said.under and said.pattern.search(seen.words) for said in self.phrases)
        )


def judge(seen: Seen) -> Row:
    """The first row that fits; the last one fits always."""
    return next(row for row in TABLE if row.fits(seen))


def advice(kind: ModelErrorKind, code: str | None = None) -> str:
    """What to do about an error; `{provider}` stands in it for a name."""
    return _ADVICE_BY_CODE.get(code or "") or _ADVICE[kind]


def _any_of(phrases: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(map(re.escape, phrases)))


_ADVICE = {
    ModelErrorKind.TRANSIENT: "Asking again can help.",
    ModelErrorKind.PERMANENT: "The same request would be refused again; change it.",
    ModelErrorKind.CONTEXT_OVERFLOW: "Shorten the conversation, or use a model with a larger context window.",
    ModelErrorKind.CONTENT_FILTER: "The same words would be refused again; change the input or instructions.",
    ModelErrorKind.AUTH: "Check the key that {provider} is sent, and that it may use this model.",
}
_ADVICE_BY_CODE = {
    "answer_too_large": "Ask for less at a time.",
    "request_too_large": "Send less: shorten the conversation, or leave media out.",
    "unsupported_input": "Leave it out, or use a model that takes it.",
    "unsupported_output": (
        "Choose another output_mode, or a model that can. Of one that can, its client knows by dialect=,"
        " the name of its provider, or by capabilities=."
    ),
    "media_missing": "Keep the blobs of a Run as long as the Run.",
    "model_not_found": "Name a model that {provider} offers.",
    "not_a_model": "Check the base_url: it is that of an API, such as https://api.example.com/v1.",
}

OVERFLOW = (
    "maximum context length",
    "context window",
    "prompt is too long",
    "input is too long",
    "maximum number of tokens",
    "input token count",
    "too many input tokens",
    "reduce the length of the messages",
)
TOO_LARGE = (
    "request too large",
    "request is too large",
    "request_too_large",
    "request entity too large",
    "payload too large",
    "content too large",
    "request exceeds the maximum size",
)
BLOCKED = (
    "prompt was blocked",
    "prompt is blocked",
    "prompt has been blocked",
    "prompt was flagged",
    "input was flagged",
    "content violates usage guidelines",
)
# "The model `x` does not exist", "models/x is not found", "Unknown model: x", and a bare "model: x".
UNKNOWN_MODEL = re.compile(
    r"\b(?:models?|deployment)\b.{0,300}?\b(?:not found|not exist|doesn't exist|unknown|not supported"
    r"|not available|no longer available|deprecated|decommissioned|retired|removed|withdrawn|shut down)\b"
    r"|\b(?:unknown|invalid|unsupported|no such|not find(?: the)?) model\b"
    r"|\bno endpoints found\b"
    r"|^model: "
)

TABLE = (
    Row(
        ModelErrorKind.CONTEXT_OVERFLOW,
        names=frozenset({"context_length_exceeded"}),
        phrases=(
            Phrases(frozenset({400, 413, 422, None}), _any_of(OVERFLOW)),
            Phrases(frozenset({413, 429}), _any_of(TOO_LARGE)),
        ),
    ),
    Row(
        ModelErrorKind.CONTENT_FILTER,
        names=frozenset(
            {
                "content_filter",
                "content_policy_violation",
                "responsibleaipolicyviolation",
                "prompt_blocked",
            }
        ),
        phrases=(Phrases(frozenset({400, 403, 422, None}), _any_of(BLOCKED)),),
    ),
    Row(
        ModelErrorKind.AUTH,
        statuses=AUTH_STATUSES,
        names=frozenset({"authentication_error", "permission_error", "invalid_api_key"}),
    ),
    Row(
        ModelErrorKind.PERMANENT,
        statuses=frozenset({402}),
        names=frozenset({"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"}),
        advice="Asking again does not help until the account at {provider} has credit.",
    ),
    Row(
        ModelErrorKind.TRANSIENT,
        statuses=TRANSIENT_STATUSES,
        names=frozenset(
            {"overloaded_error", "rate_limit_error", "server_error", "api_error", "timeout_error"}
        ),
    ),
    Row(
        ModelErrorKind.PERMANENT,
        statuses=frozenset({410}),
        names=frozenset(
            {
                "model_not_found",
                "deploymentnotfound",
                "model_decommissioned",
                "model_deprecated",
                "invalid_model",
                "unknown_model",
            }
        ),
        phrases=(Phrases(frozenset({404}), UNKNOWN_MODEL),),
        code="model_not_found",
    ),
    Row(
        ModelErrorKind.PERMANENT,
        statuses=frozenset({404, 405}),
        advice="Check the base_url and the name of the model.",
    ),
    Row(ModelErrorKind.TRANSIENT, statuses=frozenset({None})),
    Row(ModelErrorKind.PERMANENT),
)
