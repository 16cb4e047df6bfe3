"""What is read off a URL, and which URLs no policy is asked about."""

from __future__ import annotations

import re

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from psych_runtime.egress.target import hop_of, origin_of
from psych_runtime_core.errors import AccessDenied
from psych_runtime_core.ports.egress import EgressRequest
from psych_runtime_core.scope import Scope

SCOPE = Scope(tenant="acme")


def hop(
    url: httpx2.URL | str, *, method: str = "GET", configured: bool = False, number: int = 0
) -> EgressRequest:
    origins = (origin_of(url),) if configured else ()
    return hop_of(method, url, scope=SCOPE, purpose="tool", configured=origins, hop=number)


def test_a_hop_holds_all_that_a_policy_may_want_to_know() -> None:
    assert hop("HTTPS://API.Example.com/a%20b?q=1#top", method="post", configured=True) == EgressRequest(
        scope=SCOPE,
        purpose="tool",
        method="POST",
        url="https://api.example.com/a%20b?q=1",
        scheme="https",
        host="api.example.com",
        port=443,
        configured=True,
        hop=0,
    )


@pytest.mark.parametrize(("number", "configured"), [(0, True), (1, False), (5, False)])
def test_only_the_first_hop_is_configured(number: int, configured: bool) -> None:
    request = hop("http://127.0.0.1:8080", configured=True, number=number)
    assert (request.configured, request.hop) == (configured, number)


def test_a_merged_query_is_part_of_the_url() -> None:
    url = httpx2.URL("https://example.com/x?a=1").copy_merge_params({"b": "2 3"})
    assert hop(url).url == "https://example.com/x?a=1&b=2+3"


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        pytest.param("https://example.com", "https://example.com:443", id="the port of https"),
        pytest.param("http://example.com/", "http://example.com:80", id="the port of http"),
        pytest.param("http://example.com:443/", "http://example.com:443", id="a port that is another's"),
        pytest.param("https://example.com:1", "https://example.com:1", id="the first port"),
        pytest.param("https://example.com:65535", "https://example.com:65535", id="the last port"),
        pytest.param("https://EXAMPLE.com./x", "https://example.com:443", id="a last dot"),
        pytest.param("https://example.com。", "https://example.com:443", id="a last ideographic dot"),
        pytest.param("https://example。com", "https://example.com:443", id="an ideographic dot"),
        pytest.param("https://bücher.example", "https://xn--bcher-kva.example:443", id="IDNA"),
        pytest.param("http://127.0.0.1:8080", "http://127.0.0.1:8080", id="IPv4"),
        pytest.param("http://127.0.0.1.", "http://127.0.0.1:80", id="IPv4 with a last dot"),
        pytest.param("http://127。0。0。1", "http://127.0.0.1:80", id="IPv4 with ideographic dots"),
        pytest.param("http://[::1]", "http://[::1]:80", id="IPv6"),
        pytest.param("http://[0:0:0::0001]", "http://[::1]:80", id="IPv6 in full"),
        pytest.param("http://[2606:4700::ABCD]:8080", "http://[2606:4700::abcd]:8080", id="IPv6 in capitals"),
        pytest.param("http://0x7f.1", "http://0x7f.1:80", id="a number is the resolver's to read"),
        pytest.param("http://my_service:80", "http://my_service:80", id="an underscore"),
        pytest.param("http://h:８０", "http://h:80", id="a port in other digits"),
        pytest.param("http://@example.com", "http://example.com:80", id="nobody's name"),
        pytest.param(f"http://{'a' * 63}.example", f"http://{'a' * 63}.example:80", id="a label of 63"),
        pytest.param(f"http://{'a.' * 126}a", f"http://{'a.' * 126}a:80", id="a host of 253"),
        pytest.param(f"http://{'a.' * 126}a.", f"http://{'a.' * 126}a:80", id="a host of 253 and a dot"),
    ],
)
def test_one_place_has_one_spelling(url: str, origin: str) -> None:
    assert origin_of(url) == hop(url).origin == origin


def test_the_url_is_kept_as_it_is_sent() -> None:
    assert hop("https://example.com./x").url == "https://example.com./x"
    assert hop("https://example.com:443").url == str(httpx2.URL("https://example.com:443"))


SCHEMES = ["ftp", "file", "gopher", "ws", "wss", "unix", "http+unix", "javascript", "data", "dict"]


@pytest.mark.parametrize(
    "url",
    [
        *(pytest.param(f"{scheme}://example.com/", id=scheme) for scheme in SCHEMES),
        pytest.param("", id="nothing"),
        pytest.param("/path", id="a path"),
        pytest.param("//example.com/", id="no scheme"),
        pytest.param("example.com", id="a name"),
        pytest.param("http:", id="a scheme"),
        pytest.param("http://", id="no host"),
        pytest.param("http:///x", id="a path after no host"),
        pytest.param("http:////example.com/", id="a path that looks like a host"),
        pytest.param("http:example.com", id="no slashes"),
        pytest.param("http:\\\\example.com", id="backslashes for slashes"),
        pytest.param("http://:80", id="a port alone"),
        pytest.param("http://.", id="a dot"),
        pytest.param("http://..", id="two dots"),
        pytest.param("http://.example.com", id="a first dot"),
        pytest.param("http://example..com", id="an empty label"),
        pytest.param("http://example.com..", id="two last dots"),
        pytest.param("http://example。。com", id="an empty label between ideographic dots"),
        pytest.param(f"http://{'a' * 64}.example", id="a label of 64"),
        pytest.param(f"http://{'a.' * 126}aa", id="a host of 254"),
        pytest.param(f"http://{'a.' * 126}aa.", id="a host of 254 and a dot"),
        pytest.param("http://%31%32%37.0.0.1", id="percent-encoded digits"),
        pytest.param("http://127.0.0.1%00", id="percent-encoded NUL"),
        pytest.param("http://example.com%2f", id="percent-encoded slash"),
        pytest.param("http://[::1%25lo]", id="a scope id, encoded"),
        pytest.param("http://[fe80::1%eth0]", id="a scope id"),
        pytest.param("http://[::1", id="half a bracket"),
        pytest.param("http://[127.0.0.1]", id="IPv4 in brackets"),
        pytest.param("http://[v1.x]", id="an address of the future"),
        pytest.param("http://256.0.0.1", id="no IPv4"),
        pytest.param("http://example.com\\.evil.example", id="a backslash in the host"),
        pytest.param("http://example.com\\/x", id="a backslash that ends the host"),
        pytest.param("http://exa mple.com", id="a blank"),
        pytest.param("http://exa\tmple.com", id="a tab"),
        pytest.param("http://example.com/\r\nHost: evil", id="a line break"),
        pytest.param("http://example.com/\x00", id="NUL"),
        pytest.param("http://example.com\x7f", id="DEL"),
        pytest.param("http://exa\u00admple.com", id="a soft hyphen"),
        pytest.param("http://exa\u200bmple.com", id="a blank of no width"),
        pytest.param("http://ｌocalhost", id="full-width letters"),
        pytest.param("http://①②⑦.⓪.⓪.①", id="circled digits"),
        pytest.param("http://exa\udc80mple.com", id="a surrogate in the host"),
        pytest.param("http://example.com/\udc80", id="a surrogate in the path"),
        pytest.param("http://exam$ple.com", id="a dollar"),
        pytest.param("http://example.com:0", id="port 0"),
        pytest.param("http://example.com:65536", id="port 65536"),
        pytest.param("http://example.com:-1", id="a port below"),
        pytest.param("http://example.com:http", id="a port in letters"),
        pytest.param("http://example.com:80:80", id="two ports"),
        pytest.param("http://example.com:" + "9" * 5000, id="a port of 5000 digits"),
        pytest.param("http://example.com/" + "a" * 65_536, id="longer than any URL"),
        pytest.param("http://example.com/" + "é" * 20_000, id="longer than any URL once encoded"),
    ],
)
def test_no_policy_is_asked_about_what_is_no_place(url: str) -> None:
    with pytest.raises(AccessDenied) as denied:
        hop(url)
    assert denied.value.subject == "URL"
    assert len(denied.value.reason) < 200


@pytest.mark.parametrize(
    "userinfo", ["user", "user:word", ":word", ":", "public.example", "public.example\\", "%40"]
)
def test_a_url_carries_no_user_and_password(userinfo: str) -> None:
    with pytest.raises(AccessDenied) as denied:
        hop(f"https://{userinfo}@example.com/")
    assert denied.value.subject == "https://example.com:443"


def test_a_malformed_url_that_holds_credentials_shows_none_of_them() -> None:
    for url in ("https://user:hunter2/x@example.com", "https://user:hunter2@exa mple.com", "user:hunter2@h"):
        with pytest.raises(AccessDenied) as denied:
            hop(url)
        assert "hunter2" not in str(denied.value)
        assert denied.value.__cause__ is None
        assert denied.value.__suppress_context__ or denied.value.__context__ is None


HOST = re.compile(r"[a-z0-9_.-]{1,253}|[0-9a-f:.]+")


@given(
    st.text(), st.sampled_from(["", "http:", "http://", "https://", "https://a", "http://[", "http://a@b"])
)
def test_any_text_is_a_place_or_denied(text: str, before: str) -> None:
    try:
        request = hop(before + text)
    except AccessDenied:
        return
    assert request.scheme in {"http", "https"}
    assert HOST.fullmatch(request.host)
    assert 1 <= request.port <= 65535
    assert hop(request.url) == request, "what was judged is what another reading finds"
