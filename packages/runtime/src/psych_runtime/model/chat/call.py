"""One try of a call: a request goes out, and what comes back is told in events and errors of ours."""

from __future__ import annotations

from asyncio import CancelledError
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from datetime import UTC, datetime

from psych_runtime.egress.credential import CredentialBinding
from psych_runtime.egress.headers import EVENT_STREAM
from psych_runtime.egress.limits import HttpTimeouts
from psych_runtime.egress.transport import HttpTransport
from psych_runtime.model.chat.consumer import error_of_stranger
from psych_runtime.model.chat.endpoint import Endpoint
from psych_runtime.model.chat.reply.pieces import DEFAULT_PATIENCE, Patience
from psych_runtime.model.chat.reply.reading import Reading, reply_events
from psych_runtime.model.chat.reply.stream import ChatStream
from psych_runtime.model.errors.replies import CallErrors
from psych_runtime.verdicts import is_cancellation
from psych_runtime_core.errors import (
    AccessDenied,
    CredentialNotFound,
    ModelError,
    ModelErrorKind,
    RequestFailed,
    ResponseTooLarge,
)
from psych_runtime_core.ports.model import StreamEvent
from psych_runtime_core.scope import Scope

# What a client may raise, beside a `ModelError` and a cancellation.
OF_THE_PORT = (AccessDenied, CredentialNotFound, ResponseTooLarge)

MAX_STREAM_BYTES = 256 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """All that one try needs. `headers` by lower-case names; `idle_seconds` 0 is no limit."""

    endpoint: Endpoint
    scope: Scope
    errors: CallErrors
    credential: CredentialBinding | None
    headers: Mapping[str, str]
    query: Mapping[str, str]
    body: bytes
    idle_seconds: float
    patience: Patience = DEFAULT_PATIENCE


async def call_events(call: Call, transport: HttpTransport) -> AsyncGenerator[StreamEvent, None]:
    """The events of one try. Leaving it closes the socket, unless the reply was read to its end.

    Whatever goes wrong on the way is told in an error of the port.
    """
    reading = Reading(call.errors, call.endpoint.origin, call.patience)
    chat: ChatStream | None = None
    try:
        async with transport.stream(
            "POST",
            call.endpoint.answers,
            scope=call.scope,
            purpose="model",
            credential=call.credential,
            headers={**call.headers, "accept": EVENT_STREAM, "content-type": "application/json"},
            params=call.query or None,
            content=call.body,
            timeouts=HttpTimeouts(connect=10.0, write=30.0, read=call.idle_seconds or None),
            max_response_bytes=MAX_STREAM_BYTES,
            configured=(call.endpoint.origin,),
        ) as response:
            chat = ChatStream(call.errors, response.headers)
            async with aclosing(reply_events(response, chat, reading, datetime.now(UTC))) as events:
                async for event in events:
                    yield event
            return
    except ModelError as told:
        error = told
    except OF_THE_PORT:
        raise
    except RequestFailed as failed:
        error = _error_of(failed, call.errors, replied=chat is not None)
    except (Exception, CancelledError) as odd:
        if is_cancellation(odd):
            raise
        error = error_of_stranger(odd, call.errors, "The call could not be made", begun=True)
    # Raised out here: what led to it may hold what was sent and received, and is no part of it.
    raise error if chat is None else chat.broke_off(error)


def _error_of(failed: RequestFailed, errors: CallErrors, *, replied: bool) -> ModelError:
    code = "truncated" if replied else None
    if failed.timed_out and failed.phase == "read":
        code = "idle"
    return errors.of_ours(ModelErrorKind.TRANSIENT, f"{failed.message}.", code=code, begun=failed.sent)
