"""Policies that watch another, or stand beside it in an `AllOf`."""

from __future__ import annotations

from psych_runtime_core.ports.egress import EgressDecision, EgressPolicy, EgressRequest, IPAddress


class Watched:
    """Remembers what it was asked, in order, and lets it through; all but the address `refuses`."""

    def __init__(self, refuses: IPAddress | None = None) -> None:
        self.refuses = refuses
        self.hops: list[EgressRequest] = []
        self.addresses: list[IPAddress] = []

    async def allow(self, request: EgressRequest) -> EgressDecision:
        """Remembers the hop."""
        self.hops.append(request)
        return EgressDecision(True)

    async def allow_address(
        self,
        request: EgressRequest,  # noqa: ARG002 - the port's signature
        address: IPAddress,
    ) -> EgressDecision:
        """Remembers the address."""
        self.addresses.append(address)
        return EgressDecision(address != self.refuses, "it is the one that is refused")


class Raising:
    """Asks another policy, and fails whatever the answer was."""

    def __init__(self, inner: EgressPolicy) -> None:
        self.inner = inner

    async def allow(self, request: EgressRequest) -> EgressDecision:
        """Fails."""
        raise LookupError(f"{(await self.inner.allow(request)).allowed} was the answer")

    async def allow_address(self, request: EgressRequest, address: IPAddress) -> EgressDecision:
        """Fails."""
        raise LookupError(f"{(await self.inner.allow_address(request, address)).allowed} was the answer")
