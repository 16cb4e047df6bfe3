"""Logs that stand at one point, as tests of the state and of the engine begin with them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from psych_runtime.testing.log_builder import Calls, LogBuilder

PAY: Calls = [("pay", {"n": 1})]


def queued() -> LogBuilder:
    return LogBuilder().admitted()


def ready() -> LogBuilder:
    """The root lane before its first turn."""
    return queued().attempt()


def asking() -> LogBuilder:
    return ready().turn()


def calling() -> LogBuilder:
    return asking().model_started()


def acting(calls: Calls = PAY) -> LogBuilder:
    """A turn whose calls are announced."""
    return calling().model_finished(calls=calls)


def started(**fields: Any) -> LogBuilder:
    return acting().tool_started(**fields)


def waiting(calls: Calls = PAY) -> LogBuilder:
    """The first call waits for a person."""
    return acting(calls).suspended()


def answered(text: str = "done") -> LogBuilder:
    return calling().model_finished(text)


def failed() -> LogBuilder:
    return calling().model_failed("auth", next="stop")


def stopping() -> LogBuilder:
    return ready().abort()


def settled() -> LogBuilder:
    return answered().settled()


def calls_of(*tools: str) -> Calls:
    """A call of each tool, no two alike."""
    return [(tool, {"n": n}) for n, tool in enumerate(tools)]


def turns(log: LogBuilder, outcomes: Sequence[str], tool: str = "pay") -> LogBuilder:
    """A turn with one call of `tool` for each outcome."""
    for n, outcome in enumerate(outcomes):
        log.call(tool, {"n": n}, n if outcome == "ok" else None, outcome=outcome)
    return log
