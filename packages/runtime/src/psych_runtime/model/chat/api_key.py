"""The key that a provider is sent: fixed, or looked up by name for each request."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

from pydantic import SecretStr

from psych_runtime.egress.credential import NoCredential, Resolve, credential_of, sent_form
from psych_runtime.model.chat.consumer import Unfit, given_by
from psych_runtime.model.errors.replies import CallErrors
from psych_runtime_core.errors import CredentialNotFound, ModelErrorKind
from psych_runtime_core.ports.secrets import ResolvedCredential, SecretResolver, stable_credential_identity
from psych_runtime_core.scope import Scope


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


Key: TypeAlias = FixedKey | NamedKey


def key_of(
    api_key: str | SecretStr | None, credential: str | None, secrets: SecretResolver | None
) -> Key | None:
    """The key that a client's arguments name; `ValueError` for arguments that do not go together."""
    if api_key is not None and credential is not None:
        raise ValueError("api_key and credential are both given: give one of them")
    if credential is None and secrets is not None:
        raise ValueError("secrets= is asked for nothing: give credential=, the name that it knows the key by")
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
    try:
        return SecretStr(sent_form(key))
    except ValueError as fault:
        raise ValueError(
            f"api_key cannot be sent, for {fault}: give the key, or None for a server that wants none"
        ) from None


def resolving(key: Key, scope: Scope, errors: CallErrors, sent: list[str]) -> Resolve:
    """What looks the key up for one request, and notes it in `sent`, so that no error repeats it."""

    async def resolve() -> ResolvedCredential:
        found = await given_by(partial(key.resolve, scope), _sendable, errors, "The key could not be had")
        sent.append(sent_form(found.secret))
        return found

    return resolve


def _sendable(found: object) -> ResolvedCredential:
    try:
        credential = credential_of(found)
    except NoCredential as none:
        raise Unfit(str(none)) from None
    try:
        sent_form(credential.secret)
    except ValueError as fault:
        raise Unfit(str(fault), ModelErrorKind.AUTH) from None
    return credential
