"""Addresses of every kind, at the edges of every range, and the ways to wrap one in another."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Literal, TypeAlias

from psych_runtime_core.ports.egress import IPAddress

AddressKind: TypeAlias = Literal["public", "local", "reserved", "metadata"]


@dataclass(frozen=True, slots=True)
class AddressCase:
    """One address and its kind: `local` is loopback or private, `metadata` link-local and scoped too."""

    address: IPAddress
    kind: AddressKind


RANGES: Mapping[str, AddressKind] = {
    "0.0.0.0/8": "reserved",
    "10.0.0.0/8": "local",
    "100.64.0.0/10": "local",
    "127.0.0.0/8": "local",
    "169.254.0.0/16": "metadata",
    "172.16.0.0/12": "local",
    "192.0.0.0/24": "reserved",
    "192.0.2.0/24": "reserved",
    "192.88.99.0/24": "reserved",
    "192.168.0.0/16": "local",
    "198.18.0.0/15": "reserved",
    "198.51.100.0/24": "reserved",
    "203.0.113.0/24": "reserved",
    "224.0.0.0/4": "reserved",
    "240.0.0.0/4": "reserved",
    "64:ff9b:1::/48": "reserved",
    "100::/64": "reserved",
    "1fff::/16": "reserved",
    "2001:1::/32": "reserved",
    "2001:1ff::/32": "reserved",
    "2001:db8::/32": "reserved",
    "3fff::/20": "reserved",
    "4000::/16": "reserved",
    "fbff::/16": "reserved",
    "fc00::/7": "local",
    "fe00::/9": "reserved",
    "fe80::/10": "metadata",
    "fec0::/10": "reserved",
    "ff00::/8": "reserved",
}
"""Every kind but the public: the first and the last address of each range are cases."""

SINGLE: Mapping[str, AddressKind] = {
    "::": "reserved",
    "::1": "local",
    "100.100.100.200": "metadata",
    "168.63.129.16": "metadata",
    "169.254.169.254": "metadata",
    "192.0.0.192": "metadata",
    "2606:4700::1%1": "metadata",
    "::1%lo": "metadata",
    "::ffff:8.8.8.8%1": "metadata",
    "fd00:ec2::254": "metadata",
    "fe80::1%eth0": "metadata",
}
PUBLIC = (
    *("1.0.0.0", "1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0"),
    *("100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0"),
    *("168.63.129.15", "168.63.129.17", "169.253.255.255", "169.255.0.0"),
    *("172.15.255.255", "172.32.0.0", "191.255.255.255", "192.0.1.0"),
    *("192.0.1.255", "192.0.3.0", "192.88.98.255", "192.88.100.0"),
    *("192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0"),
    *("198.51.99.255", "198.51.101.0", "203.0.112.255", "203.0.114.0", "223.255.255.255"),
    *("2000::", "2000:ffff::", "2001:200::", "2001:4860:4860::8888", "2001:db7:ffff::", "2001:db9::"),
    *("2003::", "2606:4700::1111", "3ffe:ffff::", "3fff:1000::", "3fff:ffff::1"),
)
"""Neighbours of the ranges, and resolvers that anybody may ask."""


def address_cases() -> Iterator[AddressCase]:
    """The whole table, unwrapped."""
    for text, kind in RANGES.items():
        network = ip_network(text)
        yield AddressCase(network[0], kind)
        yield AddressCase(network[-1], kind)
    for text, kind in SINGLE.items():
        yield AddressCase(ip_address(text), kind)
    for text in PUBLIC:
        yield AddressCase(ip_address(text), "public")


def wrapped_cases() -> Iterator[AddressCase]:
    """Each IPv4 address of the table in every wrapping: it keeps its kind."""
    for case in address_cases():
        if isinstance(case.address, IPv4Address):
            for wrap in WRAPPINGS.values():
                yield AddressCase(wrap(case.address), case.kind)


def _before(prefix: str) -> Callable[[IPv4Address], IPv6Address]:
    return lambda inner: IPv6Address(f"{prefix}{inner}")


def _halves(address: int) -> str:
    return f"{address >> 16:x}:{address & 0xFFFF:x}"


def _six_to_four(inner: IPv4Address) -> IPv6Address:
    return IPv6Address(f"2002:{_halves(int(inner))}::1")


def _teredo(server: IPv4Address, client: IPv4Address) -> IPv6Address:
    return IPv6Address(f"2001:0:{_halves(int(server))}:0:ffff:{_halves(int(client) ^ 0xFFFFFFFF)}")


_ANYBODY = IPv4Address("8.8.8.8")
WRAPPINGS: Mapping[str, Callable[[IPv4Address], IPv6Address]] = {
    "mapped": _before("::ffff:"),
    "compatible": _before("::"),
    "translated": _before("::ffff:0:"),
    "NAT64": _before("64:ff9b::"),
    "6to4": _six_to_four,
    "Teredo server": lambda inner: _teredo(inner, _ANYBODY),
    "Teredo client": lambda inner: _teredo(_ANYBODY, inner),
}
