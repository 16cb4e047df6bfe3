"""The key that a provider is sent: fixed, or looked up by name for each request."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import cast

from pydantic import SecretStr

from psych_runtime.model.chat.consumer import Misfit, given_by
from psych_runtime.model.errors.replies import CallErrors
from psych_runtime_core.errors import CredentialNotFound, ModelErrorKind
from psych_runtime_core.ports.secrets import ResolvedCredential, SecretResolver, stable_credential_identity
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


def resolving(key: Key, scope: Scope, errors: CallErrors, sent: list[str]) -> Resolve:
    """What looks the key up for one request, and notes it in `sent`, so that no error repeats it."""

    async def resolve() -> ResolvedCredential:
        found = await given_by(partial(key.resolve, scope), _sendable, errors, "The key could not be had")
        sent.append(found.secret.get_secret_value())
        return found

    return resolve


def _sendable(found: object) -> ResolvedCredential:
    if not isinstance(found, ResolvedCredential):
        raise Misfit(f"secrets= gave {type(found).__name__}: give a ResolvedCredential")
    secret, identity = cast("object", found.secret), cast("object", found.identity)
    if not isinstance(secret, SecretStr) or not isinstance(cast("object", secret.get_secret_value()), str):
        raise Misfit(f"its secret is of type {type(secret).__name__}: give a SecretStr of a text")
    if not isinstance(identity, str):
        raise Misfit(f"its identity is of type {type(identity).__name__}: give a text")
    if not secret.get_secret_value():
        raise Misfit("it is empty", ModelErrorKind.AUTH)
    if not _fits_a_header(secret):
        raise Misfit("it holds blanks at its ends, or what no header carries", ModelErrorKind.AUTH)
    return found
