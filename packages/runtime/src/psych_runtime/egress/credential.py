"""A secret that is bound to one origin, and is asked for anew at each request."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from ipaddress import ip_address
from math import inf
from typing import TypeAlias, cast

from pydantic import SecretStr

from psych_runtime.egress.addresses import is_loopback
from psych_runtime.egress.headers import UNFIT, checked, fits_a_header
from psych_runtime.egress.target import origin_of
from psych_runtime.verdicts import NoVerdict, verdict_of
from psych_runtime_core.errors import AccessDenied, RequestFailed
from psych_runtime_core.ports.egress import EgressRequest
from psych_runtime_core.ports.secrets import ResolvedCredential

logger = logging.getLogger("psych_runtime.egress")

Resolve: TypeAlias = Callable[[], Awaitable[ResolvedCredential]]

_BLANKS = " \t\r\n"


@dataclass(frozen=True, slots=True)
class CredentialBinding:
    """Adds `header: scheme secret` to requests to `origin`, and to no other, however a request got there.

    `origin` may be any URL of it. `resolve` is called for each request, so a rotated or refreshed secret is
    used at once. With the empty `scheme` the secret stands alone. A header of the caller's is replaced.
    """

    origin: str
    resolve: Resolve
    header: str = "Authorization"
    scheme: str = "Bearer"

    def __post_init__(self) -> None:
        try:
            object.__setattr__(self, "origin", origin_of(self.origin))
        except AccessDenied as error:
            raise ValueError(
                f"a credential is bound to an origin such as https://api.example.com: {error.reason}"
            ) from None
        checked({self.header: self.scheme})

    def fits(self, request: EgressRequest, configured: Collection[str]) -> bool:
        """Whether the secret belongs on this hop. `AccessDenied` where others could read it on its way."""
        if request.origin != self.origin:
            return False
        if request.scheme == "http" and request.origin not in configured and not _is_loopback(request.host):
            raise AccessDenied(
                request.origin,
                "a credential is not sent over plain http: use https, or name the origin in configured=",
            )
        return True

    def value(self, credential: ResolvedCredential) -> str:
        """What the header says. `ValueError`, which does not show it, for a secret no header can carry."""
        try:
            secret = sent_form(credential.secret)
        except ValueError as fault:
            raise ValueError(
                f"the credential of {self.origin} cannot be sent in the header {self.header}: {fault}; "
                "store the secret anew"
            ) from None
        return f"{self.scheme} {secret}" if self.scheme else secret


def sent_form(secret: SecretStr) -> str:
    """A secret as a header carries it. `ValueError`, which does not show it, for one that none can carry."""
    text = without_blanks(secret)
    if not fits_a_header(text):
        raise ValueError(f"it holds {UNFIT}")
    return text


def without_blanks(secret: SecretStr) -> str:
    """A secret without what is around it, such as the line end of its file. `ValueError` for an empty one."""
    text = secret.get_secret_value().strip(_BLANKS)
    if not text:
        raise ValueError("it is empty")
    return text


async def resolved(resolve: Resolve, origin: str) -> ResolvedCredential:
    """What the consumer's code gives for the credential of `origin`; what it raises is its own.

    `RequestFailed` where it cancels itself or would end the process, `ValueError` for what is none.
    """
    try:
        return await verdict_of(resolve, credential_of, inf)
    except NoVerdict as none:
        cause = none.__cause__
    if isinstance(cause, NoCredential):
        raise ValueError(f"the credential of {origin} is none: {cause}")
    if isinstance(cause, Exception):
        raise cause
    logger.error("looking up a credential failed", exc_info=cause)
    detail = "its credential could not be looked up; the log has the error"
    raise RequestFailed(origin, "connect", detail, sent=False)


class NoCredential(Exception):
    """What was given is none. It says what to give."""


def credential_of(found: object) -> ResolvedCredential:
    """The credential that the consumer's code gave. Raises `NoCredential`."""
    if not isinstance(found, ResolvedCredential):
        raise NoCredential(f"give a ResolvedCredential, not {type(found).__name__}")
    identity, secret = cast("tuple[object, object]", (found.identity, found.secret))
    if not isinstance(identity, str):
        raise NoCredential("its identity has to be a str")
    if not isinstance(secret, SecretStr) or not isinstance(cast("object", secret.get_secret_value()), str):
        raise NoCredential("its secret has to be a SecretStr of a str")
    return found


def _is_loopback(host: str) -> bool:
    try:
        return is_loopback(ip_address(host))
    except ValueError:
        return host == "localhost"
