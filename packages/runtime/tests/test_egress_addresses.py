"""What kind of address is which, at the edges of every range and through every wrapping."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from psych_runtime.egress.addresses import AddressClass, class_of, wrapped_in
from psych_runtime_core.ports.egress import IPAddress

TEREDO_SERVER = IPv4Address("65.54.227.120")

# range · the address before it · the range · the address after it; None where there is none
RANGES: list[tuple[str, AddressClass | None, AddressClass, AddressClass | None]] = [
    ("0.0.0.0/8", None, "reserved", "public"),
    ("10.0.0.0/8", "public", "local", "public"),
    ("100.64.0.0/10", "public", "local", "public"),
    ("100.100.100.200/32", "local", "metadata", "local"),
    ("127.0.0.0/8", "public", "local", "public"),
    ("168.63.129.16/32", "public", "metadata", "public"),
    ("169.254.0.0/16", "public", "metadata", "public"),
    ("172.16.0.0/12", "public", "local", "public"),
    ("192.0.0.0/24", "public", "reserved", "public"),
    ("192.0.0.192/32", "reserved", "metadata", "reserved"),
    ("192.0.2.0/24", "public", "reserved", "public"),
    ("192.88.99.0/24", "public", "reserved", "public"),
    ("192.168.0.0/16", "public", "local", "public"),
    ("198.18.0.0/15", "public", "reserved", "public"),
    ("198.51.100.0/24", "public", "reserved", "public"),
    ("203.0.113.0/24", "public", "reserved", "public"),
    ("224.0.0.0/4", "public", "reserved", "reserved"),
    ("240.0.0.0/4", "reserved", "reserved", None),
    ("::1/128", "reserved", "local", "reserved"),
    ("100::/64", "reserved", "reserved", "reserved"),
    ("2000::/16", "reserved", "public", "reserved"),
    ("2001::/32", "public", "reserved", "reserved"),
    ("2001::/23", "public", "reserved", "public"),
    ("2001:db8::/32", "public", "reserved", "public"),
    ("3fff::/20", "public", "reserved", "public"),
    ("3fff:1000::/20", "reserved", "public", "public"),
    ("2003::/16", "reserved", "public", "public"),
    ("3ffe::/16", "public", "public", "reserved"),
    ("4000::/2", "public", "reserved", "reserved"),
    ("fc00::/7", "reserved", "local", "reserved"),
    ("fd00:ec2::254/128", "local", "metadata", "local"),
    ("fe80::/10", "reserved", "metadata", "reserved"),
    ("ff00::/8", "reserved", "reserved", None),
]


def edges() -> Iterator[Any]:
    for text, before, inside, after in RANGES:
        network = ip_network(text)
        if before:
            yield pytest.param(network[0] - 1, before, id=f"before {text}")
        yield pytest.param(network[0], inside, id=f"first of {text}")
        yield pytest.param(network[-1], inside, id=f"last of {text}")
        if after:
            yield pytest.param(network[-1] + 1, after, id=f"after {text}")


@pytest.mark.parametrize(("address", "kind"), list(edges()))
def test_an_address_at_an_edge_has_its_class(address: IPAddress, kind: AddressClass) -> None:
    assert class_of(address) == kind


@pytest.mark.parametrize(
    "text", ["::1%lo", "fe80::1%eth0", "2606:4700::1111%1", "::ffff:8.8.8.8%2", "fc00::1%3"]
)
def test_an_address_with_a_scope_id_is_guarded_like_metadata(text: str) -> None:
    address = ip_address(text)
    assert class_of(address) == "metadata"
    assert wrapped_in(address) == (address,)


@pytest.mark.parametrize(
    "text", ["8.8.8.8", "::1", "2606:4700::1111", "64:ff9a::1", "2001:1::1", "::1:ffff:0:0"]
)
def test_what_wraps_nothing_stands_for_itself(text: str) -> None:
    assert wrapped_in(ip_address(text)) == (ip_address(text),)


Wrap = Callable[[IPv4Address], IPv6Address]


def low(prefix: str) -> Wrap:
    """The prefix, and the address in the last 32 bits."""
    return lambda inner: IPv6Address(int(IPv6Address(prefix)) | int(inner))


def six_to_four(inner: IPv4Address) -> IPv6Address:
    return IPv6Address(0x2002 << 112 | int(inner) << 80 | 0xDEAD_BEEF)


def teredo(server: IPv4Address, client: IPv4Address) -> IPv6Address:
    return IPv6Address(0x20010000 << 96 | int(server) << 64 | 0x8000_F227 << 32 | int(client) ^ 0xFFFFFFFF)


WRAPS = [
    pytest.param(low("::ffff:0:0"), id="mapped"),
    pytest.param(low("::"), id="compatible"),
    pytest.param(low("::ffff:0:0:0"), id="translated"),
    pytest.param(low("64:ff9b::"), id="NAT64"),
    pytest.param(six_to_four, id="6to4"),
]


@pytest.mark.parametrize("wrap", WRAPS)
@pytest.mark.parametrize(
    ("inner", "kind"),
    [
        pytest.param("8.8.8.8", "public", id="public"),
        pytest.param("127.0.0.1", "local", id="loopback"),
        pytest.param("10.255.255.255", "local", id="private"),
        pytest.param("169.254.169.254", "metadata", id="metadata"),
        pytest.param("224.0.0.1", "reserved", id="multicast"),
        pytest.param("0.0.0.0", "reserved", id="unspecified"),
    ],
)
def test_a_wrapped_address_is_what_it_wraps(wrap: Wrap, inner: str, kind: AddressClass) -> None:
    assert wrapped_in(wrap(IPv4Address(inner))) == (IPv4Address(inner),)
    assert class_of(wrap(IPv4Address(inner))) == kind


@pytest.mark.parametrize(
    ("server", "client", "kind"),
    [
        pytest.param("65.54.227.120", "8.8.8.8", "public", id="both public"),
        pytest.param("10.0.0.1", "8.8.8.8", "local", id="the server is private"),
        pytest.param("65.54.227.120", "127.0.0.1", "local", id="the client is loopback"),
        pytest.param("192.0.2.1", "10.0.0.1", "reserved", id="the more guarded of two, at the server"),
        pytest.param("10.0.0.1", "192.0.2.1", "reserved", id="the more guarded of two, at the client"),
        pytest.param("169.254.169.254", "192.0.2.1", "metadata", id="metadata before all"),
    ],
)
def test_both_addresses_of_teredo_count(server: str, client: str, kind: AddressClass) -> None:
    address = teredo(IPv4Address(server), IPv4Address(client))
    assert wrapped_in(address) == (IPv4Address(server), IPv4Address(client))
    assert class_of(address) == kind


def not_public() -> st.SearchStrategy[IPv4Address]:
    networks = [ip_network(text) for text, _, kind, _ in RANGES if kind != "public" and ":" not in text]
    return st.sampled_from(networks).flatmap(
        lambda network: st.integers(int(network[0]), int(network[-1])).map(IPv4Address)
    )


wraps: st.SearchStrategy[Wrap] = st.sampled_from(
    [
        low("::ffff:0:0"),
        low("::"),
        low("::ffff:0:0:0"),
        low("64:ff9b::"),
        six_to_four,
        lambda inner: teredo(inner, TEREDO_SERVER),
        lambda inner: teredo(TEREDO_SERVER, inner),
    ]
)


@given(not_public(), wraps)
def test_no_wrapping_makes_an_address_public(inner: IPv4Address, wrap: Wrap) -> None:
    assert class_of(inner) != "public"
    assert class_of(wrap(inner)) != "public"


@given(
    st.integers(0, 2**32 - 1).map(IPv4Address),
    st.sampled_from([low("::ffff:0:0"), low("64:ff9b::"), six_to_four]),
)
def test_a_wrapping_changes_no_class(inner: IPv4Address, wrap: Wrap) -> None:
    assert class_of(wrap(inner)) == class_of(inner)


@given(st.integers(0, 2**128 - 1).map(IPv6Address))
def test_only_unicast_or_what_wraps_it_is_public(address: IPv6Address) -> None:
    if class_of(address) == "public":
        inside = address in ip_network("2000::/3")
        assert inside or all(isinstance(inner, IPv4Address) for inner in wrapped_in(address))


@given(st.ip_addresses())
def test_unwrapping_ends(address: IPAddress) -> None:
    for inner in wrapped_in(address):
        assert wrapped_in(inner) == (inner,)
