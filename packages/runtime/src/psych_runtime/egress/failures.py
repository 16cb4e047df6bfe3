"""What went wrong on the wire, as the one error that says how far a request came."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import h11
import httpcore2

from psych_runtime_core.errors import Phase, RequestFailed


class _Row(NamedTuple):
    error: type[Exception]
    phase: Phase
    waited: str | None
    """The limit that ran out, and after it what it means; without one the error's own words are told."""
    detail: str


_TABLE = (
    _Row(httpcore2.PoolTimeout, "connect", "pool", "no connection was free within {} s"),
    _Row(httpcore2.ConnectTimeout, "connect", "connect", "no connection came about within {} s"),
    _Row(httpcore2.WriteTimeout, "write", "write", "nothing could be written for {} s"),
    _Row(httpcore2.ReadTimeout, "read", "read", "nothing came for {} s"),
    _Row(httpcore2.ConnectError, "connect", None, "{} after {} s"),
    _Row(httpcore2.ProxyError, "connect", None, "the proxy answered {} after {} s"),
    _Row(httpcore2.WriteError, "write", None, "{} after {} s"),
    _Row(httpcore2.LocalProtocolError, "write", None, "{} after {} s"),
    _Row(h11.LocalProtocolError, "write", None, "{} after {} s"),
    _Row(httpcore2.ReadError, "read", None, "{} after {} s"),
    _Row(httpcore2.RemoteProtocolError, "read", None, "{} after {} s"),
    _Row(h11.RemoteProtocolError, "read", None, "{} after {} s"),
)

WIRE_ERRORS = tuple(row.error for row in _TABLE)


class Progress(NamedTuple):
    """How far a request to `origin` came, `seconds` after it began; `limits` are its timeouts by name."""

    origin: str
    sent: bool
    seconds: float
    limits: Mapping[str, float | None]


def failure(error: Exception, progress: Progress) -> RequestFailed:
    """The error of ours for one of `WIRE_ERRORS`."""
    row = next(row for row in _TABLE if isinstance(error, row.error))
    if row.waited:
        detail = row.detail.format(f"{progress.limits.get(row.waited) or 0:g}")
    else:
        detail = row.detail.format(str(error) or type(error).__name__, f"{progress.seconds:.3g}")
    return RequestFailed(progress.origin, row.phase, detail, sent=progress.sent)
