"""Secrets by name: asked for at each use and kept by nobody, so a rotated one is used at once."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Protocol

from pydantic import SecretStr

from psych_runtime_core.scope import Scope


@dataclass(frozen=True, slots=True)
class ResolvedCredential:
    """A secret and its identity, which tells two secrets apart without showing either."""

    identity: str
    secret: SecretStr


class SecretResolver(Protocol):
    """Where secrets are kept: a vault, the environment, a table of the platform's own."""

    async def resolve(self, scope: Scope, name: str) -> ResolvedCredential | None:
        """The secret that `name` stands for under `scope`; None when there is none."""
        ...


def stable_credential_identity(scope: Scope, name: str, value: str) -> str:
    """SHA-256 in hex over tenant, principal, name and value; nothing can be read off it."""
    parts = (scope.tenant, scope.principal or "", name, value)
    told = b"".join(len(part := text.encode("utf-8", "surrogatepass")).to_bytes(8) + part for text in parts)
    return hashlib.sha256(told).hexdigest()
