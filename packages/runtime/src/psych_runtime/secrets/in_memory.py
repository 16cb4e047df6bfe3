"""Secrets kept in this process: for tests, scripts, and platforms that read them from a file at start."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from pydantic import SecretStr

from psych_runtime_core.ports.secrets import ResolvedCredential, stable_credential_identity
from psych_runtime_core.scope import Scope

Key: TypeAlias = "tuple[str, str] | tuple[str, str, str]"
Secret: TypeAlias = "str | SecretStr"


class InMemorySecretResolver:
    """Knows a secret by (tenant, name), or by (tenant, principal, name) for one person of a tenant alone.

    Who asks gets their own secret, else their tenant's, and never another tenant's. A secret that is put
    again is used from the next call on.
    """

    def __init__(self, secrets: Mapping[Key, Secret] | None = None) -> None:
        self._kept: dict[tuple[str, str | None, str], SecretStr] = {}
        for (tenant, *principal, name), secret in (secrets or {}).items():
            self.put(Scope(tenant=tenant, principal=principal[0] if principal else None), name, secret)

    def put(self, scope: Scope, name: str, secret: Secret) -> None:
        """Keep `secret` for the principal of `scope`; for the whole tenant when it names none."""
        if not isinstance(scope, Scope):
            raise TypeError(f"put takes a Scope first, not {type(scope).__name__}: Scope(tenant=…)")
        kept = secret if isinstance(secret, SecretStr) else SecretStr(secret)
        if not kept.get_secret_value():
            raise ValueError(f"the secret {name!r} is empty: take it away with remove(), or give its value")
        self._kept[scope.tenant, scope.principal, name] = kept

    def remove(self, scope: Scope, name: str) -> None:
        """Forget a secret; one that is not there is nothing to forget."""
        self._kept.pop((scope.tenant, scope.principal, name), None)

    async def resolve(self, scope: Scope, name: str) -> ResolvedCredential | None:
        """The principal's own secret of this name, else the tenant's, else None."""
        for principal in dict.fromkeys((scope.principal, None)):
            secret = self._kept.get((scope.tenant, principal, name))
            if secret is not None:
                owner = Scope(tenant=scope.tenant, principal=principal)
                identity = stable_credential_identity(owner, name, secret.get_secret_value())
                return ResolvedCredential(identity, secret)
        return None
