"""Every way in which an OpenAI-like provider says that a call failed, as a `ModelError`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from http import HTTPStatus
from types import MappingProxyType
from urllib.parse import urlsplit

from psych_runtime.failures.retry_after import retry_after
from psych_runtime.failures.statuses import status_in_words
from psych_runtime.model.errors.body import Said, error_in, said_by, said_by_body
from psych_runtime.model.errors.table import Seen, advice, judge
from psych_runtime.model.errors.words import (
    MAX_ERROR_SIZE,
    MAX_EXCERPT,
    MAX_WORDS,
    beginning,
    cleaned,
    excerpt,
    masked,
)
from psych_runtime.secrets.masks import SHORTEST_MASKED
from psych_runtime_core.errors import ModelError, ModelErrorKind

# A record keeps no longer code.
MAX_CODE = 128
NO_HEADERS: Mapping[str, str] = MappingProxyType({})
# The first one that a reply has is the provider's own; the last is of the proxy before it.
REQUEST_IDS = ("x-request-id", "request-id", "apim-request-id", "x-amzn-requestid", "cf-ray")


@dataclass(frozen=True, slots=True, kw_only=True)
class CallErrors:
    """Makes the errors of one call: they name its provider and its model, and repeat none of `secrets`."""

    provider: str
    model: str
    secrets: Sequence[str] = field(default=(), repr=False)

    def of_ours(
        self,
        kind: ModelErrorKind,
        words: str,
        *,
        code: str | None = None,
        status: int | None = None,
        request_id: str | None = None,
        begun: bool = True,
    ) -> ModelError:
        """An error found on this side: `words` say what happened, and what to do is added.

        `begun` False: no model was reached.
        """
        message = self._message(words, advice(kind, code), status)
        return ModelError(
            kind,
            message,
            code=cleaned(code or "", self.secrets, MAX_CODE) or None,
            status=status,
            provider=self.provider,
            model=self.model,
            request_id=request_id,
            begun=begun,
        )

    def of_provider(
        self, said: Said, status: int | None, request_id: str | None, hint: float | None = None
    ) -> ModelError:
        """An error in the provider's words, judged by them and its status."""
        limit = MAX_EXCERPT if said.is_page else MAX_WORDS
        words = cleaned(said.words, self.secrets, limit)
        # A key may be a word of what tells the kind, so it is hidden from those who read and not here.
        row = judge(Seen(status, said.names, cleaned(said.words, limit=limit).lower()))
        cure = row.advice or advice(row.kind, row.code)
        return ModelError(
            row.kind,
            self._message(words or _without_words(status), cure, status),
            code=row.code or cleaned(said.code or "", self.secrets, MAX_CODE) or None,
            status=status,
            retry_after_seconds=hint,
            provider=self.provider,
            model=self.model,
            request_id=request_id or cleaned(said.request_id or "", self.secrets, MAX_CODE) or None,
        )

    def masked(self, name: str) -> str:
        """What a provider calls something, without a secret; a short one may stand in a name by chance."""
        return masked(name, [secret for secret in self.secrets if len(secret) >= SHORTEST_MASKED])

    def _message(self, words: str, cure: str, status: int | None) -> str:
        """The words, who they are from, and what to do, in what a message may hold."""
        where = (self.provider, self.model, *([f"HTTP {status}"] if status else []))
        tail = f" ({', '.join(where)}) {cure.format(provider=self.provider)}"
        return cleaned(words, self.secrets, MAX_WORDS - len(tail)) + tail


def error_of_reply(
    status: int,
    headers: Mapping[str, str],
    body: bytes,
    errors: CallErrors,
    received_at: datetime | None = None,
) -> ModelError:
    """The error in a reply that is no answer: one of 400 and above, a redirect, one that no model wrote.

    Of `body` the first 64 KiB are read. `received_at`, an aware instant, is what a `Retry-After` date counts
    from where the reply has no `Date`.
    """
    if len(body) > MAX_ERROR_SIZE:
        body = beginning(body, errors.secrets).encode()
    request_id = request_id_of(headers, errors)
    if status >= 400:
        return errors.of_provider(said_by_body(body), status, request_id, retry_after(headers, received_at))
    if status == HTTPStatus.OK and not body.strip():
        words = "The reply was empty."
        return errors.of_ours(
            ModelErrorKind.TRANSIENT, words, code="empty_response", status=status, request_id=request_id
        )
    words = _no_model(status, headers, body, errors)
    return errors.of_ours(
        ModelErrorKind.PERMANENT,
        words,
        code="not_a_model",
        status=status,
        request_id=request_id,
        begun=False,
    )


def in_band_error(
    chunk: object, errors: CallErrors, *, event: str | None = None, headers: Mapping[str, str] = NO_HEADERS
) -> ModelError | None:
    """The error inside a reply that began well; None where `chunk` holds none.

    `chunk` is the JSON of one event or of a whole reply, or the text of an event that is no JSON; `event` is
    the event's name. Without a status or a code that says more, asking again can help.
    """
    found = error_in(chunk, event)
    if found is None:
        return None
    said = said_by(found)
    return errors.of_provider(said, said.status, request_id_of(headers, errors))


def request_id_of(headers: Mapping[str, str], errors: CallErrors) -> str | None:
    """The provider's id of a call, as its reply has it."""
    told = {name.lower(): value for name, value in headers.items()}
    ids = (cleaned(told.get(name, ""), errors.secrets, MAX_CODE) for name in REQUEST_IDS)
    return next(filter(None, ids), None)


def _without_words(status: int | None) -> str:
    if status is None:
        return "The reply broke off with an error that says nothing."
    return f"The provider answered {status_in_words(status)} and said nothing."


def _no_model(status: int, headers: Mapping[str, str], body: bytes, errors: CallErrors) -> str:
    told = {name.lower(): value for name, value in headers.items()}
    if 300 <= status < 400:
        target = _origin(told.get("location", ""))
        return f"The reply was {status_in_words(status)}{target}, and redirects are not followed."
    if status != HTTPStatus.OK:
        return f"The reply was {status_in_words(status)}, which no model gives."
    kind = told.get("content-type") or "no content type"
    return f"The reply is no answer of a model; it is {kind} and begins: {_beginning(body, errors)!r}."


def _beginning(body: bytes, errors: CallErrors) -> str:
    return excerpt(said_by_body(body).words, errors.secrets)


def _origin(location: str) -> str:
    """Where a redirect leads, without the path, which may hold anything."""
    try:
        target = urlsplit(location)
        host = target.hostname
    except ValueError:
        return ""
    return f" to {target.scheme}://{host}" if host and target.scheme else ""
