"""A proxy that everything goes through, and the credential it asks for."""

from __future__ import annotations

import base64
from dataclasses import dataclass

from psych_runtime.egress.credential import Resolve, without_blanks
from psych_runtime.egress.target import origin_of
from psych_runtime_core.errors import AccessDenied
from psych_runtime_core.ports.secrets import ResolvedCredential


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyConfig:
    """An HTTP proxy at `url` (http or https), named by the process's own code: no variable is ever read.

    `credential` gives `user:password`, asked for at each request. A proxy resolves names itself, so a policy
    that judges addresses, as all but `AllowAllEgress` and `DenyAllEgress` are taken to do, needs one that
    does this for it: say so with `enforces_policy`.
    """

    url: str
    credential: Resolve | None = None
    enforces_policy: bool = False

    def __post_init__(self) -> None:
        try:
            origin_of(self.url)
        except AccessDenied as error:
            raise ValueError(
                f"a proxy has a URL such as http://proxy.example.com:3128: {error.reason}"
            ) from None


def proxy_headers(credential: ResolvedCredential) -> dict[str, str]:
    """What a proxy wants to see with each request, for a secret of the form `user:password`."""
    try:
        secret = without_blanks(credential.secret)
    except ValueError as fault:
        raise ValueError(
            f"the credential of the proxy cannot be sent: {fault}; store user:password"
        ) from None
    return {"Proxy-Authorization": f"Basic {base64.b64encode(secret.encode()).decode()}"}
