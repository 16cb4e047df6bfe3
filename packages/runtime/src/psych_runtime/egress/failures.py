"""What went wrong on the wire, as the one error that says how far a request came, in words of ours alone.

Those of the HTTP layer quote what was sent and what came: a key, and whatever a stranger wrote.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

import h11
import httpcore2

from psych_runtime_core.errors import Phase, RequestFailed

_NO_REPLY = "the connection was closed without a reply"
_CUT = "the connection was closed before the reply was whole"
_NO_HTTP = "what came is no HTTP"
_PROXY = "the proxy refused to lead on"


class _Row(NamedTuple):
    error: type[Exception]
    phase: Phase
    detail: str
    """With the seconds of the timeout in their place; empty where an error is in words of ours already."""
    timed: bool = False


_TABLE = (
    _Row(httpcore2.ConnectTimeout, "connect", "no connection came about within {} s", timed=True),
    _Row(httpcore2.WriteTimeout, "write", "nothing could be written for {} s", timed=True),
    _Row(httpcore2.ReadTimeout, "read", "nothing came for {} s", timed=True),
    _Row(httpcore2.ProxyError, "connect", _PROXY),
    _Row(httpcore2.RemoteProtocolError, "read", _NO_HTTP),
    _Row(h11.RemoteProtocolError, "read", _NO_HTTP),
    # These are raised by our own connection alone.
    _Row(httpcore2.ConnectError, "connect", ""),
    _Row(httpcore2.WriteError, "write", ""),
    _Row(httpcore2.ReadError, "read", ""),
)
_STATUS = re.compile(r"\d{3}\b", re.ASCII)
# How the HTTP layer begins to tell of an end that came too soon.
_ENDS = {"Server disconnected": _NO_REPLY, "peer closed": _CUT, "peer unexpectedly closed": _CUT}

LOCAL_ERRORS: tuple[type[Exception], ...] = (httpcore2.LocalProtocolError, h11.LocalProtocolError)
WIRE_ERRORS: tuple[type[Exception], ...] = (*(row.error for row in _TABLE), *LOCAL_ERRORS)


class Progress(NamedTuple):
    """How far a request to `origin` came, `seconds` after it began; `timeouts` are those of its steps."""

    origin: str
    sent: bool
    seconds: float
    timeouts: Mapping[str, float | None]


def failure(error: Exception, progress: Progress) -> RequestFailed | ValueError:
    """The error of ours for one of `WIRE_ERRORS`: a `ValueError` where the fault is the request's own."""
    if isinstance(error, LOCAL_ERRORS):
        return ValueError(
            f"the request to {progress.origin} is no HTTP: give headers that fit its body, above all no "
            "Content-Length and no Transfer-Encoding"
        )
    row = next(row for row in _TABLE if isinstance(error, row.error))
    if row.timed:
        detail = row.detail.format(f"{progress.timeouts.get(row.phase) or 0:g}")
    else:
        detail = f"{_words(row, str(error))} after {progress.seconds:.3g} s"
    return RequestFailed(progress.origin, row.phase, detail, sent=progress.sent, timed_out=row.timed)


def _words(row: _Row, told: str) -> str:
    """What an error means, which of its own words tell without being repeated."""
    if not row.detail:
        return told
    if row.detail == _PROXY:
        status = _STATUS.match(told)
        return f"the proxy answered {status[0]}" if status else _PROXY
    return next((words for begins, words in _ENDS.items() if told.startswith(begins)), row.detail)
