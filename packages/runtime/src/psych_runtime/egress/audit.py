"""What is told of every hop, refused ones too: where it went and how it ended, never what it carried."""

from __future__ import annotations

import logging
from inspect import isawaitable, iscoroutine
from typing import Literal
from urllib.parse import urlsplit

from psych_runtime.egress.hop import Hop
from psych_runtime_core.errors import AccessDenied, RequestFailed, ResponseTooLarge
from psych_runtime_core.ports.egress import EgressAudit, EgressEvent, EgressRequest

logger = logging.getLogger("psych_runtime.egress")


class Auditor:
    """Tells the consumer's function of hops. One that raises changes nothing, and is logged once."""

    def __init__(self, audit: EgressAudit | None) -> None:
        self._audit = audit
        self._complained = False

    def ended(self, hop: Hop, error: BaseException | None = None) -> None:
        """A hop is over: its reply was read or left, or `error` ended it."""
        if self._audit is None:
            return
        asked = hop.asked
        event = EgressEvent(
            tenant=asked.scope.tenant,
            principal=asked.scope.principal,
            run_id=hop.run_id,
            purpose=asked.purpose,
            method=asked.method,
            origin=_origin(asked, error),
            path=urlsplit(asked.url).path,
            address=hop.address,
            hop=asked.hop,
            outcome=_outcome(error),
            reason=_reason(error),
            status=hop.status,
            bytes_out=hop.bytes_out,
            bytes_in=hop.bytes_in,
            decoded_bytes_in=hop.decoded_bytes_in,
            seconds=hop.seconds,
        )
        try:
            _refuse_awaitable(self._audit(event))
        except BaseException:
            # No cancellation of this task comes out of a function that is not awaited.
            if not self._complained:
                self._complained = True
                logger.exception("the audit of egress raises; requests go on, and this is logged once")


def _refuse_awaitable(given: object) -> None:
    """`TypeError` for what is only told once it is awaited, as a lambda around an async function gives."""
    if isawaitable(given):
        if iscoroutine(given):
            given.close()
        raise TypeError("nobody awaits what audit= gives: it has to be a plain function of an EgressEvent")


def _origin(asked: EgressRequest, error: BaseException | None) -> str:
    """A URL that no policy was asked about may have none; its refusal names as much of it as there is."""
    return error.subject if isinstance(error, AccessDenied) and not asked.host else asked.origin


def _outcome(error: BaseException | None) -> Literal["allowed", "refused", "failed"]:
    if error is None:
        return "allowed"
    redirected = isinstance(error, RequestFailed) and error.phase == "redirect"
    return "refused" if redirected or isinstance(error, AccessDenied) else "failed"


def _reason(error: BaseException | None) -> str:
    """In words of ours alone: those of a stranger's error may hold what must not be told."""
    match error:
        case None:
            return ""
        case AccessDenied():
            return error.reason
        case RequestFailed():
            return f"{error.phase}: {error.detail}"
        case ResponseTooLarge():
            return f"the reply has over {error.limit_bytes} bytes"
        case _:
            return type(error).__name__
