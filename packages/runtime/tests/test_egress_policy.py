"""What our egress policies let through, and what they say when they do not."""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Iterable
from functools import partial
from ipaddress import ip_address
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from psych_runtime.egress.policy import AllOf, AllowAllEgress, DenyAllEgress, PublicOnly, judges_addresses
from psych_runtime.egress.target import hop_of, origin_of
from psych_runtime.egress.transport import HttpTransport
from psych_runtime_core.ports.egress import EgressDecision, EgressPolicy, EgressRequest, IPAddress
from psych_runtime_core.scope import Scope

PUBLIC, LOOPBACK, PRIVATE = "8.8.8.8", "127.0.0.1", "10.1.2.3"
RESERVED, METADATA = "198.18.0.1", "169.254.169.254"


def hop(url: str = "https://api.example.com/v1", *, configured: bool = False) -> EgressRequest:
    origins = (origin_of(url),) if configured else ()
    return hop_of("GET", url, scope=Scope(tenant="acme"), purpose="tool", configured=origins)


async def decided(policy: EgressPolicy, request: EgressRequest, address: str = PUBLIC) -> EgressDecision:
    """The answer to the hop, and when that is yes, to the address."""
    decision = await policy.allow(request)
    return await policy.allow_address(request, ip_address(address)) if decision.allowed else decision


@pytest.mark.parametrize(
    ("address", "anyone", "configured"),
    [
        pytest.param(PUBLIC, True, True, id="public"),
        pytest.param("2606:4700::1111", True, True, id="public IPv6"),
        pytest.param("::ffff:8.8.8.8", True, True, id="public, mapped"),
        pytest.param(LOOPBACK, False, True, id="loopback"),
        pytest.param("::1", False, True, id="loopback IPv6"),
        pytest.param("::ffff:127.0.0.1", False, True, id="loopback, mapped"),
        pytest.param(PRIVATE, False, True, id="private"),
        pytest.param("fd12::1", False, True, id="private IPv6"),
        pytest.param(RESERVED, False, False, id="reserved"),
        pytest.param("0.0.0.0", False, False, id="unspecified"),
        pytest.param("2001:db8::1", False, False, id="documentation"),
        pytest.param(METADATA, False, False, id="metadata"),
        pytest.param("64:ff9b::169.254.169.254", False, False, id="metadata, NAT64"),
        pytest.param("::1%lo", False, False, id="a scope id"),
    ],
)
async def test_public_only_lets_public_addresses_through_and_local_ones_for_configured_origins(
    address: str, anyone: bool, configured: bool
) -> None:
    assert (await decided(PublicOnly(), hop(), address)).allowed is anyone
    assert (await decided(PublicOnly(), hop(configured=True), address)).allowed is configured


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "[::1]", "10.1.2.3", "[::ffff:10.0.0.1]", "169.254.169.254", "0.0.0.0"]
)
async def test_an_address_in_place_of_a_name_is_judged_before_any_connection(host: str) -> None:
    assert not (await PublicOnly().allow(hop(f"http://{host}/"))).allowed


@pytest.mark.parametrize("host", ["8.8.8.8", "[2606:4700::1111]", "example.com", "localhost", "0x7f.1"])
async def test_a_name_is_judged_by_where_it_leads(host: str) -> None:
    assert await PublicOnly().allow(hop(f"http://{host}/")) == EgressDecision(True)


INTRANET = "http://intranet.example:8080/x"


@pytest.mark.parametrize(
    ("allow", "url", "address", "allowed"),
    [
        pytest.param(["http://intranet.example:8080"], INTRANET, PRIVATE, True, id="its origin"),
        pytest.param(["HTTP://Intranet.Example.:8080/"], INTRANET, PRIVATE, True, id="its origin, otherwise"),
        pytest.param(["http://intranet.example"], INTRANET, PRIVATE, False, id="another port"),
        pytest.param(["https://intranet.example:8080"], INTRANET, PRIVATE, False, id="another scheme"),
        pytest.param(["intranet.example"], INTRANET, PRIVATE, True, id="its host"),
        pytest.param(["example"], INTRANET, PRIVATE, False, id="the domain above it"),
        pytest.param(["a.intranet.example"], INTRANET, PRIVATE, False, id="a host below it"),
        pytest.param(["INTRANET.example."], INTRANET, LOOPBACK, True, id="its host, otherwise"),
        pytest.param(["intranet.example"], "http://intranet.example./", PRIVATE, True, id="a last dot"),
        pytest.param(["intranet.example"], INTRANET, RESERVED, True, id="its host at a reserved address"),
        pytest.param(["bücher.example"], "http://xn--bcher-kva.example", PRIVATE, True, id="IDNA"),
        pytest.param(["10.0.0.0/8"], INTRANET, PRIVATE, True, id="a range"),
        pytest.param(["10.0.0.0/8"], INTRANET, "::ffff:10.1.2.3", True, id="a range, and a mapped address"),
        pytest.param(["10.0.0.0/8"], INTRANET, "11.0.0.1", True, id="what is public anyway"),
        pytest.param(["10.2.0.0/16"], INTRANET, PRIVATE, False, id="another range"),
        pytest.param(["10.1.2.3"], INTRANET, PRIVATE, True, id="an address"),
        pytest.param(["10.1.2.3"], "http://10.1.2.3/", PRIVATE, True, id="an address in the URL"),
        pytest.param(["[fd12::1]"], INTRANET, "fd12::1", True, id="an address in brackets"),
        pytest.param(["2001:db8::/32"], INTRANET, "2001:db8::1", True, id="a reserved range"),
        pytest.param(["64:ff9b::/96"], INTRANET, "64:ff9b::10.1.2.3", True, id="a range that wraps"),
        pytest.param(
            ["10.0.0.0/8"], INTRANET, "2001:0:a01:203::f7f7:f7f7", True, id="one of two, the other public"
        ),
        pytest.param(
            ["10.0.0.0/8"], INTRANET, "2001:0:a01:203::3f57:fffe", False, id="one of two, the other not"
        ),
        pytest.param(
            ["169.254.0.0/15", "intranet.example"], INTRANET, METADATA, False, id="metadata, listed"
        ),
        pytest.param(
            ["64:ff9b::/96"], INTRANET, "64:ff9b::169.254.169.254", False, id="metadata, in a listed range"
        ),
        pytest.param(["fe80::/9"], INTRANET, "fe80::1", False, id="link-local, listed"),
        pytest.param(["intranet.example"], INTRANET, "fd12::1%eth0", False, id="a scope id, listed"),
        pytest.param(["0.0.0.0/0"], INTRANET, METADATA, False, id="metadata, with everything listed"),
    ],
)
async def test_allow_lets_more_through(allow: Iterable[str], url: str, address: str, allowed: bool) -> None:
    assert (await decided(PublicOnly(allow=allow), hop(url), address)).allowed is allowed
    assert not (await decided(PublicOnly(), hop(url), address)).allowed or address == "11.0.0.1"


@pytest.mark.parametrize(
    ("deny", "url", "address", "allowed"),
    [
        pytest.param(
            ["https://api.example.com"], "https://api.example.com/v1", PUBLIC, False, id="its origin"
        ),
        pytest.param(
            ["http://api.example.com"], "https://api.example.com/v1", PUBLIC, True, id="another scheme"
        ),
        pytest.param(
            ["https://api.example.com:8443"], "https://api.example.com", PUBLIC, True, id="another port"
        ),
        pytest.param(
            ["api.example.com"], "http://api.example.com:99/", PUBLIC, False, id="its host, any port"
        ),
        pytest.param(
            ["api.example.com"], "https://API.example.com./", PUBLIC, False, id="its host, otherwise"
        ),
        pytest.param(["example.com"], "https://api.example.com", PUBLIC, True, id="the domain above it"),
        pytest.param(["8.8.8.0/24"], "https://api.example.com", PUBLIC, False, id="a range"),
        pytest.param(["8.8.8.8"], "https://api.example.com", PUBLIC, False, id="an address"),
        pytest.param(["8.8.8.8"], "https://8.8.8.8/", PUBLIC, False, id="an address in the URL"),
        pytest.param(
            ["8.8.8.8"], "https://api.example.com", "64:ff9b::8.8.8.8", False, id="an address, wrapped"
        ),
        pytest.param(
            ["8.8.8.8"], "https://api.example.com", "2001:0:101:101::f7f7:f7f7", False, id="one of two"
        ),
        pytest.param(["64:ff9b::/96"], "https://api.example.com", "64:ff9b::8.8.8.8", False, id="a wrapping"),
        pytest.param(["8.8.4.0/24"], "https://api.example.com", PUBLIC, True, id="another range"),
        pytest.param(
            ["10.0.0.0/8"], "https://api.example.com", PRIVATE, False, id="for a configured origin too"
        ),
    ],
)
async def test_deny_wins(deny: Iterable[str], url: str, address: str, allowed: bool) -> None:
    request = hop(url, configured=True)
    allow = ("api.example.com", "https://8.8.8.8", "0.0.0.0/0")
    assert (await decided(PublicOnly(deny=deny), request, address)).allowed is allowed
    assert (await decided(PublicOnly(allow=allow, deny=deny), request, address)).allowed is allowed


@pytest.mark.parametrize("configured", [True, False])
async def test_https_only_refuses_plain_http_to_all(configured: bool) -> None:
    policy = PublicOnly(allow=("http://api.example.com",), https_only=True)
    refused = await policy.allow(hop("http://api.example.com/", configured=configured))
    assert not refused.allowed
    assert "https_only=False" in refused.reason
    assert (await policy.allow(hop("https://api.example.com/", configured=configured))).allowed


@pytest.mark.parametrize("address", [LOOPBACK, PRIVATE, RESERVED, "::", "fd12::1", "ff02::1"])
@pytest.mark.parametrize(
    "url", ["https://api.example.com/v1", "http://bücher.example:81", "http://[fd12::1]/"]
)
async def test_the_setting_that_a_refusal_names_allows_it(url: str, address: str) -> None:
    refused = await PublicOnly().allow_address(hop(url), ip_address(address))
    named = re.search(r"allow=(\(.*?,\))", refused.reason)
    assert named, refused.reason
    assert (await decided(PublicOnly(allow=ast.literal_eval(named[1])), hop(url), address)).allowed


@pytest.mark.parametrize(
    ("policy", "address", "words"),
    [
        pytest.param(PublicOnly(), METADATA, "only AllowAllEgress() would allow it", id="metadata"),
        pytest.param(PublicOnly(), LOOPBACK, "a loopback or private address", id="local"),
        pytest.param(PublicOnly(), RESERVED, "a reserved address", id="reserved"),
        pytest.param(
            PublicOnly(deny=("8.8.0.0/16",)), PUBLIC, "deny=) lists '8.8.0.0/16'", id="a denied range"
        ),
        pytest.param(
            PublicOnly(deny=("api.example.com",)), PUBLIC, "lists 'api.example.com'", id="a denied host"
        ),
        pytest.param(DenyAllEgress(), PUBLIC, "PublicOnly() would", id="nothing at all"),
    ],
)
async def test_a_refusal_names_the_setting(policy: EgressPolicy, address: str, words: str) -> None:
    refused = await decided(policy, hop(), address)
    assert not refused.allowed
    assert words in refused.reason


def public_only(setting: str, entries: Iterable[str]) -> PublicOnly:
    return PublicOnly(allow=entries) if setting == "allow" else PublicOnly(deny=entries)


@pytest.mark.parametrize("setting", ["allow", "deny"])
@pytest.mark.parametrize(
    ("entry", "fix"),
    [
        pytest.param("10.0.0.1/8", "write '10.0.0.0/8'", id="a range that begins amid"),
        pytest.param("10.0.0.0/33", "write one as '10.0.0.0/8'", id="no range"),
        pytest.param("::ffff:10.0.0.0/104", "write '10.0.0.0/8'", id="a mapped range"),
        pytest.param("::ffff:10.0.0.1", "write '10.0.0.1/32'", id="a mapped address"),
        pytest.param("fe80::1%eth0", "write it without", id="a scope id"),
        pytest.param("127.1", "write all four numbers", id="a part of an address"),
        pytest.param("2130706433", "write all four numbers", id="an address as one number"),
        pytest.param("0x7F.0.0.1", "write all four numbers", id="another base"),
        pytest.param("example.com:443", "'https://host:port'", id="a port"),
        pytest.param("user@example.com", "'https://host:port'", id="a user"),
        pytest.param("https://user:word@example.com", "in a header", id="a user in an origin"),
        pytest.param("https://example.com/v1", "write 'https://example.com:443'", id="a path"),
        pytest.param("https://example.com?", "write 'https://example.com:443'", id="a query"),
        pytest.param("ftp://example.com", "use https or http", id="a scheme"),
        pytest.param("https://example.com:0", "from 1 to 65535", id="port 0"),
        pytest.param("*.example.com", "wildcards are not taken", id="a pattern"),
        pytest.param("https://*.example.com", "wildcards are not taken", id="a pattern in an origin"),
        pytest.param("10.0.0.*", "wildcards are not taken", id="a pattern of addresses"),
        pytest.param("exa mple.com", "A list holds origins, hosts, and ranges", id="no host"),
        pytest.param("", "A list holds origins, hosts, and ranges", id="nothing"),
        pytest.param("example.com/", "write one as '10.0.0.0/8'", id="a slash"),
        pytest.param(None, "write it as a text", id="no text"),
    ],
)
def test_a_faulty_entry_is_named_with_its_fix(setting: str, entry: str, fix: str) -> None:
    with pytest.raises(ValueError) as fault:
        public_only(setting, ["example.com", entry])
    assert str(fault.value).startswith(f"PublicOnly({setting}=) lists {entry!r}: ")
    assert fix in str(fault.value)


@pytest.mark.parametrize(
    "entry",
    [
        pytest.param("169.254.169.254", id="an address"),
        pytest.param("http://169.254.169.254", id="an origin"),
        pytest.param("https://[fd00:ec2::254]:8443", id="an origin with a port"),
        pytest.param("http://[::ffff:a9fe:a9fe]", id="a mapped address in an origin"),
        pytest.param("169.254.0.0/16", id="a range"),
        pytest.param("fe80::/64", id="a part of a range"),
        pytest.param("64:ff9b::a9fe:0/112", id="a range, wrapped"),
    ],
)
def test_what_is_let_through_by_no_list_cannot_be_listed_but_to_be_denied(entry: str) -> None:
    with pytest.raises(ValueError, match="refused to all: take it out") as fault:
        PublicOnly(allow=("example.com", entry))
    assert repr(entry) in str(fault.value)
    assert len(PublicOnly(deny=(entry,)).denied.entries) == 1


@pytest.mark.parametrize("setting", ["allow", "deny"])
def test_one_text_is_no_list(setting: str) -> None:
    with pytest.raises(ValueError, match=re.escape("write PublicOnly(" + setting + "=('example.com',))")):
        public_only(setting, "example.com")


@pytest.mark.parametrize(
    ("policies", "fix"),
    [
        pytest.param((), "AllowAllEgress()", id="none"),
        pytest.param(([PublicOnly()],), "AllOf(first, second)", id="a list"),
        pytest.param((PublicOnly(), None), "AllOf(first, second)", id="no policy"),
        pytest.param((PublicOnly,), "not the class PublicOnly itself; give an EgressPolicy", id="a class"),
    ],
)
def test_all_of_takes_policies(policies: tuple[EgressPolicy, ...], fix: str) -> None:
    with pytest.raises(ValueError, match=re.escape(fix)):
        AllOf(*policies)


class Sync:
    def allow(self, request: EgressRequest) -> EgressDecision:
        raise AssertionError(request)

    async def allow_address(self, request: EgressRequest, address: IPAddress) -> EgressDecision:
        raise AssertionError(request, address)


class Asked:
    async def __call__(self, *asked: object) -> EgressDecision:
        return EgressDecision(len(asked) > 9)


class Inherits(Asked):
    pass


NO_POLICIES = [
    pytest.param("public", "is a str without allow, allow_address; give an EgressPolicy", id="a text"),
    pytest.param(0, "is a int without allow, allow_address", id="what is false"),
    pytest.param(SimpleNamespace(allow=Asked()), "without allow_address;", id="half of one"),
    pytest.param(SimpleNamespace(allow=1, allow_address=Asked()), "allow is not async;", id="no function"),
    pytest.param(PublicOnly, "is the class PublicOnly itself", id="a class"),
    pytest.param(
        Sync(), "is a Sync whose allow is not async; write async def allow(self, request)", id="one in sync"
    ),
    pytest.param(
        SimpleNamespace(allow=Asked(), allow_address=len),
        "write async def allow_address(self, request, address)",
        id="half in sync",
    ),
]


@pytest.mark.parametrize(("policy", "told"), NO_POLICIES)
def test_what_cannot_be_asked_is_no_policy(policy: Any, told: str) -> None:
    with pytest.raises(TypeError, match=re.escape(told)):
        HttpTransport(policy=policy)
    with pytest.raises(ValueError, match=re.escape(told.removeprefix("is "))):
        AllOf(AllowAllEgress(), policy)


@pytest.mark.parametrize(
    "question",
    [
        pytest.param(Asked(), id="an object that is called"),
        pytest.param(Inherits(), id="by what it inherits"),
        pytest.param(partial(Asked().__call__, 1), id="a partial"),
    ],
)
async def test_whatever_is_async_can_be_asked(question: Any) -> None:
    policy: Any = SimpleNamespace(allow=question, allow_address=question)
    HttpTransport(policy=policy)
    assert not (await AllOf(policy).allow(hop())).allowed


async def test_all_of_gives_the_first_refusal() -> None:
    first = PublicOnly(deny=("api.example.com",))
    refused = await AllOf(AllowAllEgress(), first, DenyAllEgress()).allow(hop())
    assert refused == await first.allow(hop())
    by_address = await AllOf(AllowAllEgress(), PublicOnly(), DenyAllEgress()).allow_address(
        hop(), ip_address(PRIVATE)
    )
    assert by_address == await PublicOnly().allow_address(hop(), ip_address(PRIVATE))


class Stranger:
    """A policy of somebody else's."""

    async def allow(self, request: EgressRequest) -> EgressDecision:
        return EgressDecision(True)

    async def allow_address(self, request: EgressRequest, address: IPAddress) -> EgressDecision:
        return EgressDecision(True)


@pytest.mark.parametrize(
    ("policy", "judges"),
    [
        pytest.param(PublicOnly(), True, id="public only"),
        pytest.param(AllowAllEgress(), False, id="everything"),
        pytest.param(DenyAllEgress(), False, id="nothing"),
        pytest.param(Stranger(), True, id="a stranger's"),
        pytest.param(AllOf(AllowAllEgress(), DenyAllEgress()), False, id="all of those that do not"),
        pytest.param(AllOf(AllowAllEgress(), AllOf(PublicOnly())), True, id="all of some, one of which does"),
    ],
)
def test_a_policy_says_whether_it_matters_where_a_name_leads(policy: EgressPolicy, judges: bool) -> None:
    assert judges_addresses(policy) is judges


@pytest.mark.parametrize(
    ("policy", "shown"),
    [
        pytest.param(PublicOnly(), "PublicOnly()", id="the default"),
        pytest.param(
            PublicOnly(("B.example", "10.0.0.1", "https://a.example"), ("::1",), True),
            "PublicOnly(allow=('b.example', 'https://a.example:443', '10.0.0.1/32'), "
            "deny=('::1/128',), https_only=True)",
            id="every setting",
        ),
        pytest.param(
            AllOf(PublicOnly(), DenyAllEgress()), "AllOf(PublicOnly(), DenyAllEgress())", id="all of"
        ),
        pytest.param(AllowAllEgress(), "AllowAllEgress()", id="everything"),
    ],
)
def test_a_policy_is_a_value_that_shows_how_it_is_made(policy: EgressPolicy, shown: str) -> None:
    assert repr(policy) == shown
    made = eval(shown)  # the point of such a repr
    assert made == policy
    assert hash(made) == hash(policy)
    assert copy.deepcopy(policy) == policy
    with pytest.raises(AttributeError):
        policy.https_only = False  # type: ignore[attr-defined]  # what must not be possible


def test_policies_differ_by_their_settings() -> None:
    a, b = "a.example", "b.example"
    policies = [
        PublicOnly(),
        PublicOnly((a,)),
        PublicOnly((), (a,)),
        PublicOnly((b,)),
        PublicOnly(https_only=True),
    ]
    assert len({*policies, AllOf(*policies), AllOf(*policies[1:]), AllowAllEgress(), DenyAllEgress()}) == 9
    assert PublicOnly((a, b, a)) == PublicOnly([b, a])


@given(st.ip_addresses(), st.booleans())
async def test_what_public_only_lets_a_stranger_reach_a_configured_origin_reaches_too(
    address: IPAddress, https_only: bool
) -> None:
    policy = PublicOnly(https_only=https_only)
    if (await policy.allow_address(hop(), address)).allowed:
        assert (await policy.allow_address(hop(configured=True), address)).allowed


@given(st.ip_addresses(), st.booleans())
async def test_a_denied_range_is_left_by_nobody(address: IPAddress, configured: bool) -> None:
    policy = PublicOnly(allow=("0.0.0.0/0", "::/0", "api.example.com"), deny=("0.0.0.0/0", "::/0"))
    assert not (await policy.allow_address(hop(configured=configured), address)).allowed
