"""The key that a provider is sent: fixed, or looked up by name for each request."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from pydantic import SecretStr

from psych_runtime.model.errors.replies import Asked
from psych_runtime.model.transient import classify
from psych_runtime_core.errors import AccessDenied, CredentialNotFound, ModelErrorKind
from psych_runtime_core.ports.secrets import ResolvedCredential, SecretResolver, stable_credential_identity
from psych_runtime_core.records.facts import FailureKind
from psych_runtime_core.scope import Scope

Resolve = Callable[[], Awaitable[ResolvedCredential]]


@dataclass(frozen=True, slots=True)
class FixedKey:
    """One key for all who ask."""

    key: SecretStr

    async def resolve(self, scope: Scope) -> ResolvedCredential:
        identity = stable_credential_identity(scope, "api_key", self.key.get_secret_value())
        return ResolvedCredential(identity, self.key)


@dataclass(frozen=True, slots=True)
class NamedKey:
    """The key that the tenant who asks has under a name, at that moment."""

    name: str
    secrets: SecretResolver

    async def resolve(self, scope: Scope) -> ResolvedCredential:
        found = await self.secrets.resolve(scope, self.name)
        if found is None:
            raise CredentialNotFound(scope, self.name)
        return found


Key = FixedKey | NamedKey


def key_of(
    api_key: str | SecretStr | None, credential: str | None, secrets: SecretResolver | None
) -> Key | None:
    """The key that a client's arguments name; `ValueError` for arguments that do not go together."""
    if api_key is not None and credential is not None:
        raise ValueError("api_key and credential are both given: give one of them")
    if api_key is not None:
        return FixedKey(_usable(api_key if isinstance(api_key, SecretStr) else SecretStr(api_key)))
    if credential is None:
        return None
    if not credential:
        raise ValueError("credential is empty: give the name that secrets= knows the key by")
    if secrets is None:
        raise ValueError(f"nobody resolves credential={credential!r}: give secrets= as well")
    return NamedKey(credential, secrets)


def _usable(key: SecretStr) -> SecretStr:
    if not key.get_secret_value():
        raise ValueError("api_key is empty: give the key, or None for a server that wants none")
    if not _fits_a_header(key):
        raise ValueError("api_key holds blanks at its ends, or what no header carries: strip it")
    return key


def _fits_a_header(key: SecretStr) -> bool:
    text = key.get_secret_value()
    return text.isascii() and text.isprintable() and text == text.strip()


def resolving(key: Key, scope: Scope, asked: Asked, sent: list[str]) -> Resolve:
    """What looks the key up for one request, and notes it in `sent`, so that no error repeats it."""

    async def resolve() -> ResolvedCredential:
        try:
            found = await key.resolve(scope)
        except (AccessDenied, CredentialNotFound):
            raise
        except Exception as error:
            # A resolver is foreign code: whatever it raises becomes an error that the caller knows.
            passing = classify(error)[0] is FailureKind.TRANSIENT
            kind = ModelErrorKind.TRANSIENT if passing else ModelErrorKind.PERMANENT
            raise asked.error(kind, f"The key could not be looked up: {type(error).__name__}.") from error
        if not _fits_a_header(found.secret):
            words = "The key holds blanks at its ends, or what no header carries."
            raise asked.error(ModelErrorKind.AUTH, words)
        sent.append(found.secret.get_secret_value())
        return found

    return resolve
