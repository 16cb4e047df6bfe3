"""A codec that seals, for tests: every byte turned over, bound to its facts, with a key to destroy."""

from __future__ import annotations

import hashlib

from psych_runtime_core.records import PlainCodec
from psych_runtime_core.scope import Scope


class SealingCodec(PlainCodec):
    """Seals per tenant, opens plain content too, and forgets what `destroy` names."""

    name = "turned over"

    def __init__(self) -> None:
        self._destroyed: set[str] = set()

    def destroy(self, tenant: str) -> None:
        self._destroyed.add(tenant)

    def seal(self, content: bytes, *, scope: Scope, bound: bytes) -> bytes:
        return self._tag(scope, bound) + bytes(255 - byte for byte in content)

    def open(self, sealed: bytes, *, scope: Scope, bound: bytes) -> bytes | None:
        if sealed.startswith(b"{"):
            return sealed
        if scope.tenant in self._destroyed:
            return None
        tag = self._tag(scope, bound)
        assert sealed.startswith(tag), "sealed for other facts, or for another tenant"
        return bytes(255 - byte for byte in sealed[len(tag) :])

    def _tag(self, scope: Scope, bound: bytes) -> bytes:
        return hashlib.sha256(scope.tenant.encode() + b"\n" + bound).hexdigest().encode()
