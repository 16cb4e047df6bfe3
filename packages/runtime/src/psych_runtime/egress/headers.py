"""The headers of a hop: the caller's, over what the transport adds to all, over what every request has."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.metadata import version
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import httpx2

EVENT_STREAM = "text/event-stream"

_DEFAULTS = {"accept": "*/*", "user-agent": f"psych-runtime/{version('psych-runtime-core')}"}
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_BROKEN = re.compile(rb"[\r\n\0]")


def checked(headers: Mapping[str, str]) -> dict[str, str]:
    """The same headers. `ValueError` for what would not stay within its header; it shows no value."""
    for name, value in headers.items():
        if not _NAME.fullmatch(name):
            raise ValueError(f"{name!r} is no name of a header: use letters, digits and -")
        if not value.isascii() or _BROKEN.search(value.encode()):
            raise ValueError(
                f"the value of the header {name} holds CR, LF, NUL or non-ASCII: encode it first"
            )
    return dict(headers)


def checked_method(method: str) -> str:
    """The same method. `ValueError` for what is none, and for CONNECT, which asks for a way past the seam."""
    if not _NAME.fullmatch(method) or method == "CONNECT":
        raise ValueError(f"{method!r} is no method that can be sent: use GET, POST and their kin")
    return method


def outgoing(request: httpx2.Request, under: Mapping[str, str], *, strayed: bool) -> httpx2.Headers:
    """What a hop sends. A request that was led to another origin keeps nothing of what the caller gave."""
    import httpx2

    for name, value in request.headers.raw:
        if _BROKEN.search(name) or _BROKEN.search(value):
            raise ValueError(f"the header {name!r} holds CR, LF or NUL: encode its value first")
    kept = [
        (name, value.strip())
        for name, value in request.headers.raw
        if name.lower() != b"host" and (not strayed or name.lower() == b"content-length")
    ]
    headers = httpx2.Headers([(b"Host", request.url.netloc), *kept])
    for laid_under in (checked(under), _DEFAULTS):
        for given, text in laid_under.items():
            headers.setdefault(given, text)
    return headers
