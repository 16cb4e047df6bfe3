"""Tells the operator of a model call that failed and is made again, while the Run is silent about it."""

from __future__ import annotations

import logging
import re
from datetime import datetime

from psych_runtime_core.ids import RunId
from psych_runtime_core.records.turn import ModelCallFailed

logger = logging.getLogger("psych_runtime.attempt")
# A code may be whatever a provider sent, an echoed key too: only what reads as a name or a number is shown.
PLAIN_CODE = re.compile(r"[a-z_]{1,48}|[0-9]{1,6}")


def warn_when_asked_again(
    run_id: RunId, record: ModelCallFailed, status: object, nth: str, now: datetime
) -> None:
    """Log the failed try, if another follows; `nth` is which one that is, and of how many.

    Nothing of what the provider said is in it: that stands in the record.
    """
    if not record.will_retry:
        return
    pause = 0.0 if record.retry_at is None else max((record.retry_at - now).total_seconds(), 0.0)
    logger.warning(
        "%s: a call of %s failed (%s); %s is asked in %.1f s, retry %s",
        run_id,
        record.model,
        _reason(record, status),
        record.next_model,
        pause,
        nth,
    )


def _reason(record: ModelCallFailed, status: object) -> str:
    failure, said = record.failure, [record.failure.kind]
    if failure.code and PLAIN_CODE.fullmatch(failure.code):
        said.append(f"code {failure.code}")
    if isinstance(status, int) and 100 <= status <= 599:
        said.append(f"status {status}")
    return ", ".join(said)
