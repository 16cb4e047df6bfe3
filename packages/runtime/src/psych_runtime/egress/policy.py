"""The policies that come with the house: who may go where."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import ip_address
from typing import ClassVar

from psych_runtime.egress.addresses import AddressClass, class_of, wrapped_in
from psych_runtime.egress.askable import fault_of
from psych_runtime.egress.judge import decided
from psych_runtime.egress.listed import Listed
from psych_runtime_core.ports.egress import EgressDecision, EgressPolicy, EgressRequest, IPAddress

_ALLOWED = EgressDecision(True)


@dataclass(frozen=True, init=False, repr=False)
class PublicOnly:
    """The default: public addresses, and for an origin that the process's own code named local ones too.

    `allow` lets more through and `deny` less; each lists origins (`https://host:port`), hosts (that name
    alone, none below it) and addresses or ranges of them. `deny` wins. Link-local addresses, and those where
    clouds hand out credentials, are refused to all, listed or not. `https_only` refuses plain http to all.
    """

    allowed: Listed
    denied: Listed
    https_only: bool

    def __init__(self, allow: Iterable[str] = (), deny: Iterable[str] = (), https_only: bool = False) -> None:
        # Written out, as no field can be called `allow`: that is the port's question.
        object.__setattr__(self, "allowed", Listed.of("allow", allow))
        object.__setattr__(self, "denied", Listed.of("deny", deny))
        object.__setattr__(self, "https_only", https_only)

    async def allow(self, request: EgressRequest) -> EgressDecision:
        """Judges the name, and the address when the URL holds one in place of a name."""
        if self.https_only and request.scheme != "https":
            return _refused("PublicOnly(https_only=True) lets no plain http leave; https_only=False would")
        if listed := self.denied.name(request):
            return _denied(listed)
        literal = _literal(request.host)
        return await self.allow_address(request, literal) if literal else _ALLOWED

    async def allow_address(self, request: EgressRequest, address: IPAddress) -> EgressDecision:
        """Judges an address by itself and by all that it wraps."""
        kind = class_of(address)
        if kind == "metadata":
            return _refused(_GUARDED)
        for one in (address, *wrapped_in(address)):
            if listed := self.denied.network(one):
                return _denied(str(listed))
        if self._lets(request, address):
            return _ALLOWED
        return _refused(
            f"the host leads to {_SAID[kind]} address, and PublicOnly lets public ones through; "
            f"PublicOnly(allow=({request.origin!r},)) would allow it"
        )

    def _lets(self, request: EgressRequest, address: IPAddress) -> bool:
        if self.allowed.name(request) or self.allowed.network(address):
            return True
        through = {"public", "local"} if request.configured else {"public"}
        return all(class_of(one) in through or self.allowed.network(one) for one in wrapped_in(address))

    def __repr__(self) -> str:
        lists = {"allow": self.allowed.entries, "deny": self.denied.entries}
        shown = [f"{name}={entries!r}" for name, entries in lists.items() if entries]
        if self.https_only:
            shown.append("https_only=True")
        return f"PublicOnly({', '.join(shown)})"


class _Always:
    """One answer to every question."""

    answer: ClassVar[EgressDecision]

    async def allow(self, request: EgressRequest) -> EgressDecision:  # noqa: ARG002 - the port's signature
        """The one answer."""
        return self.answer

    async def allow_address(
        self,
        request: EgressRequest,  # noqa: ARG002 - the port's signature
        address: IPAddress,  # noqa: ARG002 - the port's signature
    ) -> EgressDecision:
        """The one answer."""
        return self.answer


@dataclass(frozen=True)
class AllowAllEgress(_Always):
    """Everything may leave for everywhere, metadata services included: for tests and closed networks."""

    answer: ClassVar[EgressDecision] = _ALLOWED


@dataclass(frozen=True)
class DenyAllEgress(_Always):
    """Nothing leaves."""

    answer: ClassVar[EgressDecision] = EgressDecision(
        False, "DenyAllEgress() lets nothing leave; PublicOnly() would let public addresses through"
    )


@dataclass(frozen=True, init=False, repr=False)
class AllOf:
    """What each of several policies lets through. They are asked in order, to the first refusal."""

    policies: tuple[EgressPolicy, ...]

    def __init__(self, *policies: EgressPolicy) -> None:
        for policy in policies:
            if fault := fault_of(policy):
                raise ValueError(f"AllOf takes policies one by one, as AllOf(first, second), not {fault}")
        if not policies:
            raise ValueError("AllOf needs a policy: AllowAllEgress() is the one that lets everything leave")
        object.__setattr__(self, "policies", policies)

    async def allow(self, request: EgressRequest) -> EgressDecision:
        """Asks them about the hop."""
        for policy in self.policies:
            decision = decided(policy, await policy.allow(request))
            if not decision.allowed:
                return decision
        return _ALLOWED

    async def allow_address(self, request: EgressRequest, address: IPAddress) -> EgressDecision:
        """Asks them about the address."""
        for policy in self.policies:
            decision = decided(policy, await policy.allow_address(request, address))
            if not decision.allowed:
                return decision
        return _ALLOWED

    def __repr__(self) -> str:
        return f"AllOf({', '.join(map(repr, self.policies))})"


def judges_addresses(policy: EgressPolicy) -> bool:
    """Whether it matters to a policy where a name leads; of a stranger's it is taken for granted."""
    if isinstance(policy, AllOf):
        return any(map(judges_addresses, policy.policies))
    return not isinstance(policy, _Always)


_GUARDED = (
    "the host leads to a metadata or link-local address, or to one with a scope id; PublicOnly refuses it "
    "to all, listed or not, and only AllowAllEgress() would allow it"
)
_SAID: dict[AddressClass, str] = {
    "public": "a public",
    "local": "a loopback or private",
    "reserved": "a reserved",
}


def _refused(reason: str) -> EgressDecision:
    return EgressDecision(False, reason)


def _denied(entry: str) -> EgressDecision:
    return _refused(f"PublicOnly(deny=) lists {entry!r}; taking it out of the list would allow it")


def _literal(host: str) -> IPAddress | None:
    try:
        return ip_address(host)
    except ValueError:
        return None
