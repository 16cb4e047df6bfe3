"""Where a provider is reached: its base URL, checked once."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

from psych_runtime.egress.target import origin_of
from psych_runtime_core.errors import AccessDenied

_ANSWERS = "/chat/completions"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A base URL without a slash at its end, its origin, and its host in lower case."""

    base_url: str
    origin: str
    host: str

    @property
    def answers(self) -> str:
        return self.base_url + _ANSWERS

    @property
    def models(self) -> str:
        return f"{self.base_url}/models"


def endpoint_of(base_url: str) -> Endpoint:
    """The endpoint at `base_url`. `ValueError` says what to give in place of one that is none; it shows
    nothing of a user or a password.
    """
    url = base_url.removesuffix("/")
    if "?" in url:
        raise ValueError("base_url holds a query: give it as query={…}")
    if "#" in url:
        raise ValueError("base_url holds a fragment: leave out what begins with #")
    try:
        origin = origin_of(url)
    except AccessDenied as refused:
        raise ValueError(f"base_url cannot be used, {refused.reason}") from None
    if url.endswith(_ANSWERS):
        raise ValueError(f"base_url is without the path of the call: give {url.removesuffix(_ANSWERS)!r}")
    return Endpoint(url, origin, urlsplit(origin).hostname or "")
