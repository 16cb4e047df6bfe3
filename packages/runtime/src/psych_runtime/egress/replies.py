"""A reply as it is handed on: nothing in it is to be undone again, or leads past the seam."""

from __future__ import annotations

import httpx2

from psych_runtime.egress.charsets import charset_in, codec_of

# A jar of cookies takes long over the last, which no server sends any more.
_LEFT_OUT = {b"content-encoding", b"content-length", b"set-cookie2"}


class Reply(httpx2.Response):
    """A response with no way around in its extensions, such as the bare connection of an upgrade."""

    @property
    def charset_encoding(self) -> str | None:
        """What its text is written in, None where it states nothing that a text can be written in."""
        charset = charset_in(self.headers.get("content-type", ""))
        return None if charset is None else codec_of(charset)

    @property
    def has_redirect_location(self) -> bool:
        """Not with a location that is no URL: a client that looks where it leads would raise."""
        return super().has_redirect_location and _leads_somewhere(self.request.url, self.headers["location"])


def _leads_somewhere(url: httpx2.URL, location: str) -> bool:
    """Whether a client can read a location, each step of its reading included."""
    try:
        led = httpx2.URL(location)
        if led.scheme and not led.host:
            led = led.copy_with(host=url.host)
        return bool(url.join(led).copy_with(fragment=url.fragment or None).origin)
    except (httpx2.InvalidURL, ValueError):
        return False


def handed_on(headers: httpx2.Headers) -> httpx2.Headers:
    """The headers of a reply without those that tell of its coding: nobody decodes it twice."""
    return httpx2.Headers([(name, value) for name, value in headers.raw if name.lower() not in _LEFT_OUT])
