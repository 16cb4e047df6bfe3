"""Where a request was led so far, and where it may be led next. Pure: nothing here sends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from psych_runtime_core.ports.egress import EgressRequest

if TYPE_CHECKING:
    import httpx2

Refusal: TypeAlias = str

MAX_LED = 19
"""Redirects of one request, whoever follows them. A client of httpx2's own gives up after one more."""

_STATUSES = {301, 302, 303, 307, 308}
_OF_THE_BODY = {"content-length", "content-type", "content-encoding", "content-language", "transfer-encoding"}


@dataclass(frozen=True, slots=True)
class Step:
    """One hop of a journey."""

    method: str
    url: str
    scheme: str
    origin: str


@dataclass(frozen=True, slots=True)
class Journey:
    """The hops of one request, the first one first."""

    steps: tuple[Step, ...] = ()

    @property
    def strayed(self) -> bool:
        """Whether it ever left the origin it was meant for; what it lost there does not come back."""
        return any(step.origin != self.steps[0].origin for step in self.steps)

    def on_to(self, hop: EgressRequest) -> Journey:
        """The journey with one more hop."""
        return Journey((*self.steps, Step(hop.method, hop.url, hop.scheme, hop.origin)))

    def refusal(self, *, body: bool) -> Refusal | None:
        """Why its last step may not be made, if it may not. `body`: the request still has one."""
        *before, last = self.steps
        if not before:
            return None
        if len(before) > MAX_LED:
            return f"it was led on over {MAX_LED} times"
        if before[-1].scheme == "https" and last.scheme == "http":
            return "it leads from https to http"
        if last in before:
            return "it leads in a loop"
        if body and self.strayed:
            return f"it leads to {last.origin}, and a body is not sent on to another origin"
        return None


def is_redirect(response: httpx2.Response) -> bool:
    """Whether a reply names another place to ask."""
    return response.status_code in _STATUSES and "location" in response.headers


def led_on(request: httpx2.Request, response: httpx2.Response) -> httpx2.Request | Refusal:
    """The request that a redirect leads to, its headers still the caller's; or why there is none."""
    import httpx2

    method = _method(request.method, response.status_code)
    body = method == request.method
    if body and not isinstance(request.stream, httpx2.ByteStream):
        return "its body was a stream, which cannot be sent again"
    try:
        url = request.url.join(response.headers["location"])
        _ = url.origin
    except (httpx2.InvalidURL, ValueError):
        return "its location is no URL"
    headers = [
        (name, value)
        for name, value in request.headers.multi_items()
        if name != "host" and (body or name not in _OF_THE_BODY)
    ]
    content = request.content if body else None
    return httpx2.Request(method, url, headers=headers, content=content, extensions=request.extensions)


def _method(method: str, status: int) -> str:
    """See Other asks for a GET; of a POST that was moved, every browser makes one."""
    if (status == 303 and method != "HEAD") or (status in {301, 302} and method == "POST"):
        return "GET"
    return method
