"""What holds for an egress policy, whoever wrote it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from ipaddress import IPv4Address, ip_address
from typing import ClassVar, cast

import pytest

from psych_runtime.egress.askable import fault_of
from psych_runtime.egress.judge import judged, judged_addresses
from psych_runtime.egress.policy import AllOf, AllowAllEgress, DenyAllEgress
from psych_runtime.egress.target import hop_of, origin_of
from psych_runtime_contract.egress.addresses import address_cases, wrapped_cases
from psych_runtime_contract.egress.spellings import SPELLINGS
from psych_runtime_contract.egress.stand_ins import Raising, Watched
from psych_runtime_contract.given import made_by, unfit
from psych_runtime_core.errors import AccessDenied
from psych_runtime_core.ports.egress import EgressDecision, EgressPolicy, EgressRequest, IPAddress
from psych_runtime_core.scope import Scope

_SCOPE = Scope(tenant="acme", principal="ada")
_ANYWHERE = IPv4Address("8.8.8.8")
_INSIDE = IPv4Address("10.0.0.1")
_ELSEWHERE = (
    "http://169.254.169.254/",
    "http://10.0.0.1:8080/",
    "https://elsewhere.example/",
    "http://[::1]/",
)
_TIMES = 3


@pytest.mark.anyio
class EgressContract(ABC):
    """The suite: subclass it as `Test…` and say which policy.

    `public=False` is for a policy that lets other addresses than the public ones through, or none: the table
    of addresses is then not asked of it. `url` is one whose host the policy lets be reached.
    """

    public: ClassVar[bool] = True
    url: ClassVar[str] = "https://api.example.com/v1"

    @abstractmethod
    def policy(self) -> EgressPolicy:
        """The policy that is judged."""

    def given(self) -> EgressPolicy:
        """What `policy` gives: something that can be asked."""
        policy = made_by(self, "policy")
        if fault := fault_of(policy):
            unfit(f"policy() gives {fault}")
        return cast("EgressPolicy", policy)

    def hop(self, *, configured: bool = False, hop: int = 0) -> EgressRequest:
        """A hop to `url`."""
        try:
            origins = (origin_of(self.url),) if configured else ()
            return hop_of("POST", self.url, scope=_SCOPE, purpose="tool", configured=origins, hop=hop)
        except (AccessDenied, TypeError) as fault:
            told = fault.reason if isinstance(fault, AccessDenied) else "write a text"
            unfit(f"url is {self.url!r}: {told}")

    async def answers(self, policy: EgressPolicy) -> list[bool]:
        """Whether a policy lets each kind of hop through, and on each of them every address of the table."""
        hops = [self.hop(configured=configured, hop=hop) for configured in (True, False) for hop in (0, 1)]
        decisions = [await judged(policy, hop) for hop in hops]
        decisions += [
            await judged_addresses(policy, hop, [case.address]) for hop in hops for case in address_cases()
        ]
        return [decision.allowed for decision in decisions]

    # --- any policy -----------------------------------------------------------------------------------

    async def test_the_policy_can_be_asked_and_lets_its_url_be_reached(self) -> None:
        decision = await judged(self.given(), self.hop())
        if self.public and not decision.allowed:
            cure = "give a url that it lets be reached, or say public = False"
            unfit(f"the policy refuses {self.url!r}: {decision.reason}; {cure}")

    async def test_each_question_is_decided_and_a_refusal_says_why(self) -> None:
        policy, hop = self.given(), self.hop()
        elsewhere = [hop_of("GET", url, scope=_SCOPE, purpose="tool") for url in _ELSEWHERE]
        decisions = [await policy.allow(asked) for asked in (hop, *elsewhere)]
        decisions += [await policy.allow_address(hop, case.address) for case in address_cases()]
        assert {type(decision) for decision in decisions} == {EgressDecision}
        refusals = [decision for decision in decisions if not decision.allowed]
        assert not [decision for decision in refusals if not str(decision.reason).strip()]
        assert refusals or not self.public, "it refuses nothing at all"

    async def test_the_same_question_has_the_same_answer(self) -> None:
        policy, hop = self.given(), self.hop()
        asked = [await judged(policy, hop) for _ in range(_TIMES)]
        assert len({decision.allowed for decision in asked}) == 1, f"{hop.url}: {asked}"
        for case in address_cases():
            asked = [await judged_addresses(policy, hop, [case.address]) for _ in range(_TIMES)]
            assert len({decision.allowed for decision in asked}) == 1, f"{case.address}: {asked}"

    async def test_a_policy_that_raises_denies(self) -> None:
        policy, hop = self.given(), self.hop()
        for failing in (Raising(policy), AllOf(AllowAllEgress(), Raising(policy))):
            assert not (await judged(failing, hop)).allowed
            assert not (await judged_addresses(failing, hop, [_ANYWHERE])).allowed

    async def test_all_of_it_and_everything_decides_as_it_does(self) -> None:
        alone = await self.answers(self.given())
        assert await self.answers(AllOf(self.given(), AllowAllEgress())) == alone
        assert await self.answers(AllOf(AllowAllEgress(), self.given())) == alone

    async def test_all_of_it_and_nothing_lets_nothing_leave(self) -> None:
        for narrowed in (AllOf(self.given(), DenyAllEgress()), AllOf(DenyAllEgress(), self.given())):
            assert not any(await self.answers(narrowed))

    async def test_every_hop_is_asked(self) -> None:
        watched = Watched()
        policy = AllOf(watched, self.given())
        hops = [self.hop(configured=True, hop=hop) for hop in (0, 1, 2, 2)]
        for hop in hops:
            await judged(policy, hop)
        assert watched.hops == hops
        assert [hop.configured for hop in watched.hops] == [True, False, False, False]

    async def test_every_address_is_asked_until_one_is_refused(self) -> None:
        let_through = [
            case.address
            for case in address_cases()
            if (await judged_addresses(self.given(), self.hop(), [case.address])).allowed
        ]
        for refused in let_through:
            watched = Watched(refuses=refused)
            policy = AllOf(self.given(), watched)
            assert not (await judged_addresses(policy, self.hop(), let_through)).allowed
            assert watched.addresses == let_through[: let_through.index(refused) + 1]

    # --- a policy that lets public addresses through, and no others -----------------------------------

    @pytest.mark.needs("public")
    async def test_public_addresses_and_no_others_are_let_through(self) -> None:
        cases = [*address_cases(), *wrapped_cases()]
        public = {str(case.address) for case in cases if case.kind == "public"}
        passed = {str(address) for address in await self.passed(self.hop(), [case.address for case in cases])}
        assert passed - public == set()
        assert public - passed == set()

    @pytest.mark.needs("public")
    async def test_metadata_is_let_through_not_even_for_a_configured_origin(self) -> None:
        guarded = [case.address for case in (*address_cases(), *wrapped_cases()) if case.kind == "metadata"]
        assert await self.passed(self.hop(configured=True), guarded) == []

    @pytest.mark.needs("public")
    async def test_a_configured_origin_is_one_no_more_after_a_redirect(self) -> None:
        local = [case.address for case in (*address_cases(), *wrapped_cases()) if case.kind == "local"]
        assert await self.passed(self.hop(configured=True, hop=1), local) == []

    @pytest.mark.needs("public")
    async def test_no_spelling_reaches_what_is_not_public(self) -> None:
        assert [host for host, address in SPELLINGS.items() if await self.reached(host, address)] == []

    @pytest.mark.needs("public")
    async def test_one_address_inside_refuses_the_name(self) -> None:
        for answer in ([_INSIDE, _ANYWHERE], [_ANYWHERE, _INSIDE], [_ANYWHERE, _INSIDE, _ANYWHERE]):
            assert not (await judged_addresses(self.given(), self.hop(), answer)).allowed
        assert (await judged_addresses(self.given(), self.hop(), [_ANYWHERE, _ANYWHERE])).allowed

    async def passed(self, hop: EgressRequest, addresses: Iterable[IPAddress]) -> list[IPAddress]:
        """Those that the policy lets through."""
        policy = self.given()
        return [each for each in addresses if (await judged_addresses(policy, hop, [each])).allowed]

    async def reached(self, host: str, address: str) -> bool:
        """Whether a request to `host` would connect, if it was resolved to `address`."""
        try:
            hop = hop_of("GET", f"https://{host}/", scope=_SCOPE, purpose="tool")
        except AccessDenied:
            return False
        if not (await judged(self.given(), hop)).allowed:
            return False
        return (await judged_addresses(self.given(), hop, [ip_address(address)])).allowed
