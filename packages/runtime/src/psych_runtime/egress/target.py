"""Where a request would go, read off its URL: what is checked before any policy is asked."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace
from ipaddress import IPv6Address
from typing import TYPE_CHECKING

from psych_runtime_core.errors import AccessDenied
from psych_runtime_core.ports.egress import EgressPurpose, EgressRequest
from psych_runtime_core.scope import Scope

if TYPE_CHECKING:
    import httpx2

_DEFAULT_PORTS = {"http": 80, "https": 443}
# The resolver raises on a label of 64 characters, and takes an empty one for the end.
_NAME = re.compile(r"[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*")


def hop_of(
    method: str,
    url: httpx2.URL | str,
    *,
    scope: Scope,
    purpose: EgressPurpose,
    configured: Collection[str] = (),
    hop: int = 0,
) -> EgressRequest:
    """What a policy is asked about; `AccessDenied` for a URL that none is asked about.

    `host` is the name without the dot that may end it, an IPv6 address in its shortest form: one place has
    one spelling. `url` keeps what is sent. `configured` are the origins that the caller was set up with, of
    which nobody may be led to one.
    """
    read = _read(url)
    scheme, host, port = _place(read)
    request = EgressRequest(
        scope=scope,
        purpose=purpose,
        method=method.upper(),
        url=str(read),
        scheme=scheme,
        host=host,
        port=port,
        hop=hop,
    )
    if read.userinfo:
        raise AccessDenied(request.origin, "a URL carries no user and password: send them in a header")
    return replace(request, configured=hop == 0 and request.origin in configured)


def origin_of(url: httpx2.URL | str) -> str:
    """The origin of a URL, spelled as `EgressRequest.origin` is; `AccessDenied` as for a hop."""
    return hop_of("GET", url, scope=_NOBODY, purpose="other").origin


# An origin is the same whoever asks.
_NOBODY = Scope(tenant="-")


def _read(url: httpx2.URL | str) -> httpx2.URL:
    import httpx2

    try:
        return httpx2.URL(url).copy_with(fragment=None)
    except (httpx2.InvalidURL, ValueError):
        # The error quotes what it stumbled over, and a misplaced password is part of many such texts.
        raise AccessDenied(
            "URL", "it is malformed: write scheme://host:port/path without blanks and control characters"
        ) from None


def _place(url: httpx2.URL) -> tuple[str, str, int]:
    if url.scheme not in _DEFAULT_PORTS:
        raise AccessDenied("URL", f"its scheme is {url.scheme!r}: use https or http")
    port = _DEFAULT_PORTS[url.scheme] if url.port is None else url.port
    if not 1 <= port <= 65535:
        raise AccessDenied("URL", f"its port is {port}: use one from 1 to 65535")
    return url.scheme, _host(url.raw_host.decode("ascii")), port


def _host(host: str) -> str:
    if not host:
        raise AccessDenied("URL", "it names no host: write scheme://host/path")
    if ":" in host and "%" not in host:
        return str(IPv6Address(host))
    name = host.removesuffix(".")
    if len(name) > 253:
        raise AccessDenied("URL", f"its host has {len(name)} characters: a name has at most 253")
    if not _NAME.fullmatch(name):
        raise AccessDenied(
            "URL",
            "its host is none: a name is of letters, digits, - and _, at most 63 between two dots; "
            "an address has no scope id",
        )
    return name
