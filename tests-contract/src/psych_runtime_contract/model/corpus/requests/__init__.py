"""Q: requests. What a client of this house sends for a request, byte for byte, by dialect and feature."""

from __future__ import annotations

from psych_runtime_contract.model.corpus.requests import dialects, features, history, media
from psych_runtime_contract.model.corpus.requests.case import RequestCase

REQUESTS: tuple[RequestCase, ...] = (*dialects.CASES, *features.CASES, *media.CASES, *history.CASES)
