"""What is told of every hop, refused ones too: where it went and how it ended, never what it carried."""

from __future__ import annotations

import logging
import time
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import urlsplit

from psych_runtime_core.errors import AccessDenied, RequestFailed, ResponseTooLarge
from psych_runtime_core.ports.egress import EgressAudit, EgressEvent, EgressRequest

logger = logging.getLogger("psych_runtime.egress")

_run: ContextVar[str | None] = ContextVar("psych_egress_run", default=None)


@contextmanager
def run_in_audit(run_id: str) -> Generator[None]:
    """Requests made inside are told of with this Run."""
    token = _run.set(run_id)
    try:
        yield
    finally:
        _run.reset(token)


@dataclass(slots=True, eq=False)
class Hop:
    """One hop under way. `sent` holds from the moment its first byte was handed to the socket."""

    asked: EgressRequest
    run_id: str | None = field(default_factory=_run.get)
    began: float = field(default_factory=time.monotonic)
    address: str | None = None
    sent: bool = False
    status: int | None = None
    bytes_out: int = 0
    bytes_in: int = 0
    decoded_bytes_in: int = 0

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.began


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
            self._audit(event)
        except Exception:
            if not self._complained:
                self._complained = True
                logger.exception("the audit of egress raises; requests go on, and this is logged once")


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
