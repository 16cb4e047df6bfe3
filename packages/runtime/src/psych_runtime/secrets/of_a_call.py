"""The secrets that one call asks for: looked up at each use, and remembered only to be masked."""

from __future__ import annotations

from psych_runtime.secrets.masks import Masks
from psych_runtime_core.errors import CredentialNotFound
from psych_runtime_core.ports.secrets import ResolvedCredential, SecretResolver
from psych_runtime_core.scope import Scope


class CallSecrets:
    """What a call may know by name, under its own Scope alone."""

    def __init__(self, scope: Scope, resolver: SecretResolver | None) -> None:
        self._scope, self._resolver = scope, resolver
        self._seen: dict[str, str] = {}

    async def resolve(self, name: str) -> ResolvedCredential:
        """The secret as it is now. Raises `CredentialNotFound`, and whatever the resolver raises."""
        resolver = self._resolver
        found = None if resolver is None else await resolver.resolve(self._scope, name)
        if found is None:
            raise CredentialNotFound(self._scope, name)
        self._seen[found.secret.get_secret_value()] = name
        return found

    @property
    def masks(self) -> Masks:
        """What hides every secret that was resolved so far."""
        return Masks(self._seen)
