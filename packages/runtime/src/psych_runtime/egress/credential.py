"""A secret that is bound to one origin, and is asked for anew at each request."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from ipaddress import ip_address
from typing import TYPE_CHECKING

from psych_runtime.egress.headers import checked
from psych_runtime.egress.target import origin_of
from psych_runtime_core.errors import AccessDenied
from psych_runtime_core.ports.egress import EgressRequest
from psych_runtime_core.ports.secrets import ResolvedCredential

if TYPE_CHECKING:
    from collections.abc import Collection


@dataclass(frozen=True, slots=True)
class CredentialBinding:
    """Adds `header: scheme secret` to requests to `origin`, and to no other, however a request got there.

    `origin` may be any URL of it. `resolve` is called for each request, so a rotated or refreshed secret is
    used at once. With the empty `scheme` the secret stands alone. A header of the caller's is replaced.
    """

    origin: str
    resolve: Callable[[], Awaitable[ResolvedCredential]]
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
        secret = credential.secret.get_secret_value()
        value = f"{self.scheme} {secret}" if self.scheme else secret
        return checked({self.header: value})[self.header]


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
