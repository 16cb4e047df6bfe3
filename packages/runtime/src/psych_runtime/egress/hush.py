"""What the HTTP layer logs of requests of ours: which step they are at, and nothing of what they carry."""

from __future__ import annotations

import logging

from psych_runtime.egress.hop import hop_of_this_task

_LOGS = ("httpcore2.connection", "httpcore2.http11", "httpcore2.proxy")


def hush() -> None:
    """From now on. The requests of others are logged as they were."""
    for name in _LOGS:
        # A logger that has it already takes it no second time.
        logging.getLogger(name).addFilter(_step_alone)


def _step_alone(record: logging.LogRecord) -> bool:
    """A record begins with its step; headers and errors follow, and quote what was sent and what came."""
    if hop_of_this_task.get(None) is not None:
        record.msg, record.args = str(record.msg).partition(" ")[0], ()
    return True
