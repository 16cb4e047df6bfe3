"""What `PublicOnly` is told to allow or to deny: origins, hosts, and addresses by the range."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Network, ip_address, ip_interface
from urllib.parse import urlsplit

from psych_runtime.egress.addresses import IPNetwork, class_of
from psych_runtime.egress.target import origin_of
from psych_runtime_core.errors import AccessDenied
from psych_runtime_core.ports.egress import EgressRequest, IPAddress

_MAPPED = IPv6Network("::ffff:0:0/96")
_NUMBER = re.compile(r"(.*\.)?(\d+|0x[0-9a-f]*)\.?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Listed:
    """Names (origins and hosts, each meaning itself alone) and networks; two of equal content are equal."""

    names: tuple[str, ...]
    networks: tuple[IPNetwork, ...]

    @classmethod
    def of(cls, setting: str, entries: Iterable[str]) -> Listed:
        """Reads the entries of a setting; a fault is a `ValueError` that says what to write instead."""
        if isinstance(entries, str):
            raise ValueError(f"PublicOnly takes a sequence: write PublicOnly({setting}=({entries!r},))")
        read = {_read(setting, entry) for entry in entries}
        names = sorted(entry for entry in read if isinstance(entry, str))
        networks = sorted((entry for entry in read if not isinstance(entry, str)), key=_order)
        return cls(tuple(names), tuple(networks))

    def name(self, request: EgressRequest) -> str | None:
        """The entry that names the host or the origin of a hop."""
        return next((name for name in (request.origin, request.host) if name in self.names), None)

    def network(self, address: IPAddress) -> IPNetwork | None:
        """The entry that holds an address, as it is written: nothing is unwrapped."""
        return next((network for network in self.networks if address in network), None)

    @property
    def entries(self) -> tuple[str, ...]:
        """All of it in the spelling it is compared in."""
        return (*self.names, *map(str, self.networks))


def _order(network: IPNetwork) -> tuple[int, int, int]:
    return network.version, int(network.network_address), network.prefixlen


def _read(setting: str, entry: object) -> str | IPNetwork:
    try:
        if not isinstance(entry, str):
            raise ValueError("write it as a text")
        if "*" in entry:
            raise ValueError("wildcards are not taken: name each host, or write a policy of your own")
        read = _origin(entry) if "://" in entry else _network(entry) or _host(entry)
        if setting == "allow" and _is_guarded(read):
            raise ValueError("metadata and link-local addresses are refused to all: take it out of the list")
        return read
    except ValueError as error:
        raise ValueError(f"PublicOnly({setting}=) lists {entry!r}: {error}") from None


def _origin(entry: str) -> str:
    origin = _checked(entry)
    if re.search(r"[/?#]", entry.partition("://")[2].removesuffix("/")):
        raise ValueError(f"an origin ends after its port: write {origin!r}")
    return origin


def _network(entry: str) -> IPNetwork | None:
    """A range, or an address as the range of one; None for what is to be a name."""
    text = re.sub(r"^\[(.*)\]$", r"\1", entry)
    try:
        written = ip_interface(text)
    except ValueError:
        if "/" in text:
            raise ValueError("it is no range of addresses: write one as '10.0.0.0/8'") from None
        return None
    if "%" in text:
        raise ValueError("an address with a scope id is let through by nothing: write it without")
    network = written.network
    if isinstance(network, IPv6Network) and network.subnet_of(_MAPPED):
        mapped = IPv4Address(int(network.network_address) & 0xFFFFFFFF)
        raise ValueError(f"an address is judged unmapped: write '{mapped}/{network.prefixlen - 96}'")
    if int(written) != int(network.network_address):
        raise ValueError(f"a range begins at its first address: write '{network}'")
    return network


def _host(entry: str) -> str:
    if re.search(r"[:?#@]", entry):
        raise ValueError("a host is a name alone: write one port of it as an origin, 'https://host:port'")
    if _NUMBER.fullmatch(entry):
        raise ValueError("it is an address in part or in another base: write all four numbers, as '10.0.0.1'")
    return _checked(f"https://{entry}").removeprefix("https://").removesuffix(":443")


def _is_guarded(entry: str | IPNetwork) -> bool:
    """Whether it names nothing but addresses that `PublicOnly` lets nobody reach."""
    if not isinstance(entry, str):
        return {class_of(entry[0]), class_of(entry[-1])} == {"metadata"}
    try:
        return class_of(ip_address(urlsplit(entry).hostname or "")) == "metadata"
    except ValueError:
        return False


def _checked(url: str) -> str:
    try:
        return origin_of(url)
    except AccessDenied as denied:
        raise ValueError(f"{denied.reason}. A list holds origins, hosts, and ranges of addresses") from None
