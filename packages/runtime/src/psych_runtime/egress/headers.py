"""The headers of a hop: the caller's, over what the transport adds to all, over what every request has."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    import httpx2

EVENT_STREAM = "text/event-stream"
UNFIT = "CR, LF, NUL, another control character or non-ASCII"
"""What `fits_a_header` finds none of."""

_DEFAULTS = {"accept": "*/*", "user-agent": f"psych-runtime/{version('psych-runtime-core')}"}
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_LENGTH = re.compile(r"[0-9]{1,20}")
_BROKEN = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")


def checked(headers: Mapping[str, str]) -> dict[str, str]:
    """The same headers. `ValueError` for what would not stay within its header; it shows no value."""
    for name, value in cast("Iterable[tuple[object, object]]", headers.items()):
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise ValueError(f"{name!r} is no name of a header: use letters, digits and -")
        if not isinstance(value, str):
            raise ValueError(f"the value of the header {name} is a {type(value).__name__}: give a str")
        if not fits_a_header(value):
            raise ValueError(f"the value of the header {name} holds {UNFIT}: encode it first")
    return dict(headers)


def fits_a_header(value: str) -> bool:
    """Whether a header can carry it, and nothing in it ends the header."""
    return value.isascii() and not _BROKEN.search(value.encode())


def checked_method(method: str) -> str:
    """The same method. `ValueError` for what is none, and for CONNECT, which asks for a way past the seam."""
    if not _NAME.fullmatch(method) or method == "CONNECT":
        raise ValueError(f"{method!r} is no method that can be sent: use GET, POST and their kin")
    return method


def outgoing(request: httpx2.Request, under: Mapping[str, str], *, strayed: bool) -> httpx2.Headers:
    """What a hop sends. A request that was led to another origin keeps nothing of what the caller gave."""
    import httpx2

    for name, value in request.headers.raw:
        told = name.decode("latin-1")
        if not _NAME.fullmatch(told):
            raise ValueError("a header has what is no name of a header: use letters, digits and -")
        if _BROKEN.search(value):
            raise ValueError(f"the header {told} holds CR, LF, NUL or such: encode its value first")
    _refuse_odd_length(request)
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


def _refuse_odd_length(request: httpx2.Request) -> None:
    """`ValueError` for a stated length that is none, or not the body's as far as that is known."""
    import httpx2

    stated = request.headers.get_list("content-length")
    if not stated:
        return
    try:
        known = str(len(request.content))
    except httpx2.RequestNotRead:
        known = stated[0]
    if "transfer-encoding" in request.headers or stated != [known] or not _LENGTH.fullmatch(known):
        raise ValueError("the Content-Length is not that of the body: leave it out, it is told anyway")
