"""What providers send over `openai.chat`, well or badly, and what must come of it; a file a letter."""

from __future__ import annotations

from psych_runtime_contract.model.cases import WireCase
from psych_runtime_contract.model.corpus import (
    bytes,
    content,
    ends,
    http,
    in_band,
    reasoning,
    tool_calls,
    usage,
)

CASES: tuple[WireCase, ...] = (
    *bytes.CASES,
    *content.CASES,
    *ends.CASES,
    *tool_calls.CASES,
    *reasoning.CASES,
    *usage.CASES,
    *in_band.CASES,
    *http.CASES,
)
