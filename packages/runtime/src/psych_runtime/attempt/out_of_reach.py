"""Tells the operator which setting kept a tool from what it reaches for: the model is told less."""

from __future__ import annotations

import logging

from psych_runtime.secrets.masks import Masks
from psych_runtime.tools.failures import kept_out_by
from psych_runtime_core.records.base import cut
from psych_runtime_core.state.calls import CallState

logger = logging.getLogger("psych_runtime.attempt")
MAX_SHOWN = 1_000


def warn_when_out_of_reach(call: CallState, error: BaseException, masks: Masks) -> None:
    """Log the address or the credential that a call was refused, and what would allow it."""
    refusal = kept_out_by(error)
    if refusal is not None:
        # A tool of the consumer's own may raise these too, in any words.
        said = cut(" ".join(masks.text(str(refusal)).split()), MAX_SHOWN)
        logger.warning("%s: the tool %r was kept out: %s", call.call_id, call.tool or call.name, said)
