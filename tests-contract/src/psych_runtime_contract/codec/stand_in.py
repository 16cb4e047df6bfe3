"""A codec that seals, to test with what it is used by. It protects nothing that matters."""

from __future__ import annotations

import hmac
import secrets
from hashlib import shake_256

from psych_runtime_core.scope import Scope

SEALED = b"\x01"
"""What is sealed begins so, and with no `{`."""
NONCE_BYTES = 16
TAG_BYTES = 32


class SealingStandIn:
    """Seals with a key for each tenant, which can be destroyed."""

    name = "stand-in"

    def __init__(self) -> None:
        self._keys: dict[str, bytes | None] = {}

    def destroy(self, tenant: str) -> None:
        """Forget the key of a tenant for good."""
        self._keys[tenant] = None

    async def prepare(self, scope: Scope) -> None:
        self._keys.setdefault(scope.tenant, secrets.token_bytes(32))

    def seal(self, content: bytes, *, scope: Scope, bound: bytes) -> bytes:
        key = self._keys[scope.tenant]
        if key is None:
            raise ValueError(f"the key of {scope.tenant} is destroyed")
        nonce = secrets.token_bytes(NONCE_BYTES)
        hidden = _veiled(content, key + nonce)
        return SEALED + nonce + _tag(key, bound, nonce + hidden) + hidden

    def open(self, sealed: bytes, *, scope: Scope, bound: bytes) -> bytes | None:
        if sealed.startswith(b"{"):
            return sealed
        key = self._keys[scope.tenant]
        if key is None:
            return None
        start = len(SEALED) + NONCE_BYTES
        nonce, tag, hidden = sealed[1:start], sealed[start : start + TAG_BYTES], sealed[start + TAG_BYTES :]
        if not sealed.startswith(SEALED) or not hmac.compare_digest(tag, _tag(key, bound, nonce + hidden)):
            raise ValueError("a broken seal, or one of another place or tenant")
        return _veiled(hidden, key + nonce)


def _tag(key: bytes, bound: bytes, sealed: bytes) -> bytes:
    # `bound` goes behind its length, so none of it is taken for content.
    return hmac.digest(key, len(bound).to_bytes(8, "big") + bound + sealed, "sha256")


def _veiled(content: bytes, seed: bytes) -> bytes:
    """Content under a stream of bytes; twice is not at all."""
    size = len(content)
    veil = int.from_bytes(shake_256(seed).digest(size), "big")
    return (int.from_bytes(content, "big") ^ veil).to_bytes(size, "big")
