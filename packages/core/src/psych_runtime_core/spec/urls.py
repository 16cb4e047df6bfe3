"""URLs in a Spec: http or https, a host, and nothing that could mean another place."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field

from psych_runtime_core.refusal import Refusal, refuse
from psych_runtime_core.spec.issues import IssueCode

MAX_URL = 2_048

_URL = re.compile(r"(?P<scheme>https?)://(?P<authority>[^/?#]*)(?P<path>[^?#]*)(?:\?(?P<query>[^#]*))?", re.I)
# A backslash is a slash to some readers of URLs and none to others, so a host behind one has two names.
_FOREIGN = re.compile(r"[\x00-\x20\x7f-\x9f\\\s]")


class BadUrl(ValueError):
    """What is wrong with a URL."""


@dataclass(frozen=True, slots=True)
class UrlParts:
    """A URL taken apart, each part as it was written."""

    scheme: str
    authority: str
    path: str
    query: str

    @property
    def origin(self) -> str:
        return f"{self.scheme}://{self.authority}"


def parts_of_url(text: str) -> UrlParts:
    """The parts of an http or https URL. Raises `BadUrl` for one that no Spec may hold."""
    if _FOREIGN.search(text):
        raise BadUrl("holds a blank, a control character or a backslash: encode it")
    if "#" in text:
        raise BadUrl("has a fragment, which is never sent: leave it out")
    found = _URL.fullmatch(text)
    if found is None:
        raise BadUrl("is no http or https URL: write https://host/path")
    parts = UrlParts(found["scheme"], found["authority"], found["path"], found["query"] or "")
    _check_authority(parts.authority)
    return parts


def _check_authority(authority: str) -> None:
    if "{" in authority or "}" in authority:
        raise BadUrl("holds a placeholder in its host or port: only path segments and query values take one")
    if "@" in authority:
        raise BadUrl("carries a user or password: name a credential in its place")
    try:
        read = urlsplit(f"//{authority}")
        host, port = read.hostname, read.port
    except ValueError:
        raise BadUrl("has no readable host and port: write https://host:port/path") from None
    if not host:
        raise BadUrl("names no host: write https://host/path")
    if port == 0:
        raise BadUrl("has the port 0: use one from 1 to 65535")


def _url(text: str) -> str:
    try:
        parts_of_url(text)
    except BadUrl as bad:
        refuse(Refusal(IssueCode.BAD_URL, str(bad), text))
    return text


Url = Annotated[str, Field(max_length=MAX_URL), AfterValidator(_url)]
