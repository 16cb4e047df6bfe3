"""What a store still knows of an idempotency key when its Run is gone: enough to judge, nothing to read."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime

from psych_runtime_core.errors import IdempotencyConflict
from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.runs import RunHeader

KEY_SECONDS = 30 * 86_400
"""How long a key answers after its Run was purged or erased."""
FORGOTTEN_AT_ONCE = 2
"""How many keys whose time is over an admission takes away."""


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of a key. `forget_at` is None as long as its Run is there and says whose it is."""

    run_id: RunId
    request: bytes
    forget_at: datetime | None = None


def judge_key(header: RunHeader, known: Known | None, now: datetime) -> RunId | None:
    """The Run that answers an admission, by what is known of its key.

    Raises `IdempotencyConflict` where that was for another request.
    """
    key = header.idempotency_key
    if key is None or known is None or (known.forget_at is not None and known.forget_at <= now):
        return None
    if known.request != request_under(key, header.request):
        raise IdempotencyConflict(key, known.run_id, "request")
    return known.run_id


def key_digest(tenant: str, key: str) -> bytes:
    """The name of a key: 32 bytes, different for any two pairs of tenant and key."""
    # Each text goes behind its length, so ("a", "bc") is not ("ab", "c").
    texts = [text.encode() for text in (tenant, key)]
    return hashlib.sha256(b"".join(len(text).to_bytes(8, "big") + text for text in texts)).digest()


def request_under(key: str, request: bytes) -> bytes:
    """`request` bound to its key: equal for equal requests, and told by nobody who lacks the key."""
    return hashlib.sha256(key.encode() + request).digest()
