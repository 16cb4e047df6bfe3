"""What kind of address a connection would go to.

A table of our own: `ipaddress.is_global` differs between Python versions, and looks into no wrapping.
"""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_network
from typing import Literal, TypeAlias, get_args

from psych_runtime_core.ports.egress import IPAddress

IPNetwork: TypeAlias = IPv4Network | IPv6Network
AddressClass: TypeAlias = Literal["public", "local", "reserved", "metadata"]
"""From the least to the most guarded.

`local` is loopback or private. `metadata` is where clouds hand out credentials, link-local, and whatever
bears a scope id. `reserved` is all else that is not public.
"""


def class_of(address: IPAddress) -> AddressClass:
    """The most guarded class among the addresses that this one stands for."""
    return max(map(_class_of_one, wrapped_in(address)), key=get_args(AddressClass).index)


def is_loopback(address: IPAddress) -> bool:
    """Whether it leads nowhere but to this machine."""
    return all(_within(one, _LOOPBACKS) for one in wrapped_in(address))


def wrapped_in(address: IPAddress) -> tuple[IPAddress, ...]:
    """The addresses that this one stands for, unwrapped to the end: itself when it wraps none."""
    if isinstance(address, IPv4Address) or address.scope_id or address == _LOOPBACK:
        return (address,)
    for network, *embedded in _WRAPPINGS:
        if address in network:
            return tuple(inner for unwrap in embedded for inner in wrapped_in(unwrap(int(address))))
    return (address,)


def _class_of_one(address: IPAddress) -> AddressClass:
    if _scoped(address) or _within(address, _METADATA):
        return "metadata"
    if _within(address, _LOCAL):
        return "local"
    if _within(address, _UNICAST) and not _within(address, _SPECIAL):
        return "public"
    return "reserved"


def _scoped(address: IPAddress) -> bool:
    return isinstance(address, IPv6Address) and bool(address.scope_id)


def _within(address: IPAddress, networks: tuple[IPNetwork, ...]) -> bool:
    return any(address in network for network in networks)


def _table(*networks: str) -> tuple[IPNetwork, ...]:
    return tuple(map(ip_network, networks))


def _ipv4_at(low_bit: int, flipped: int = 0) -> Callable[[int], IPv4Address]:
    """Reads the 32 bits of an IPv6 address that begin at its `low_bit`, counted from the right."""
    return lambda number: IPv4Address((number >> low_bit & 0xFFFFFFFF) ^ flipped)


_LOOPBACK = IPv6Address("::1")  # it lies within ::/96, and wraps nothing
_WRAPPINGS: tuple[tuple[IPv6Network, *tuple[Callable[[int], IPAddress], ...]], ...] = (
    (IPv6Network("::ffff:0:0/96"), _ipv4_at(0)),  # mapped
    (IPv6Network("::/96"), _ipv4_at(0)),  # compatible
    (IPv6Network("::ffff:0:0:0/96"), _ipv4_at(0)),  # translated
    (IPv6Network("64:ff9b::/96"), _ipv4_at(0)),  # NAT64
    (IPv6Network("2002::/16"), _ipv4_at(80)),  # 6to4
    (IPv6Network("2001::/32"), _ipv4_at(64), _ipv4_at(0, flipped=0xFFFFFFFF)),  # Teredo: server, then client
)

_METADATA = _table(
    "169.254.0.0/16",
    "fe80::/10",
    "fd00:ec2::254/128",
    "168.63.129.16/32",  # Azure
    "100.100.100.200/32",  # Alibaba
    "192.0.0.192/32",  # Oracle
)
_LOCAL = _table(
    "127.0.0.0/8",
    "::1/128",
    "10.0.0.0/8",
    "172.16.0.0/12",
    "192.168.0.0/16",
    "100.64.0.0/10",
    "fc00::/7",
)
_LOOPBACKS = _table("127.0.0.0/8", "::1/128")
_UNICAST = _table("0.0.0.0/0", "2000::/3")
_SPECIAL = _table(
    "0.0.0.0/8",
    "192.0.0.0/24",
    "192.0.2.0/24",
    "192.88.99.0/24",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "224.0.0.0/4",
    "240.0.0.0/4",
    "2001::/23",
    "2001:db8::/32",
    "3fff::/20",
)
