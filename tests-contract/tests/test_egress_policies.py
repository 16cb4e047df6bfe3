"""Our policies before their suite, and the suite before policies that are wrong in one way each."""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Callable
from ipaddress import IPv4Address, ip_address
from typing import Any

import pytest

from psych_runtime.egress.policy import AllOf, AllowAllEgress, DenyAllEgress, PublicOnly
from psych_runtime_contract.egress import EgressContract
from psych_runtime_contract.egress.addresses import WRAPPINGS
from psych_runtime_contract.egress.spellings import BRACKETED, NUMBERS
from psych_runtime_core.ports.egress import EgressDecision, EgressPolicy, EgressRequest, IPAddress


class TestPublicOnly(EgressContract):
    def policy(self) -> EgressPolicy:
        return PublicOnly()


class TestPublicOnlyThatListsMetadata(EgressContract):
    def policy(self) -> EgressPolicy:
        return PublicOnly(allow=("169.254.0.0/15", "168.63.129.0/24"))


class TestPublicOnlyOverHttps(EgressContract):
    def policy(self) -> EgressPolicy:
        return PublicOnly(https_only=True, deny=("elsewhere.example", "10.0.0.0/8"))


class TestPublicOnlyThatAllowsAName(EgressContract):
    public = False
    url = "http://intranet.example:8080/"

    def policy(self) -> EgressPolicy:
        return PublicOnly(allow=("intranet.example",))


class TestAllOfThePublic(EgressContract):
    def policy(self) -> EgressPolicy:
        return AllOf(AllowAllEgress(), PublicOnly(allow=("10.0.0.0/8",)), PublicOnly())


class TestAllowAllEgress(EgressContract):
    public = False

    def policy(self) -> EgressPolicy:
        return AllowAllEgress()


class TestDenyAllEgress(EgressContract):
    public = False

    def policy(self) -> EgressPolicy:
        return DenyAllEgress()


class Wrong:
    """`PublicOnly` with one thing wrong; as it stands here, with none."""

    async def allow(self, request: EgressRequest) -> EgressDecision:
        return await PublicOnly().allow(request)

    async def allow_address(self, request: EgressRequest, address: IPAddress) -> EgressDecision:
        return await PublicOnly().allow_address(request, address)


class NoReason(Wrong):
    async def allow_address(self, request: EgressRequest, address: IPAddress) -> EgressDecision:
        return EgressDecision((await super().allow_address(request, address)).allowed)


class NoReasonForAHop(Wrong):
    async def allow(self, request: EgressRequest) -> EgressDecision:
        return EgressDecision((await super().allow(request)).allowed, " ")


class FlipsOverHops(Wrong):
    def __init__(self) -> None:
        self.asked = 0

    async def allow(self, request: EgressRequest) -> EgressDecision:
        self.asked += 1
        return EgressDecision(self.asked % 2 == 1 and (await super().allow(request)).allowed, "odd")


class FlipsOverAnAddress(Wrong):
    def __init__(self) -> None:
        self.asked = 0

    async def allow_address(self, request: EgressRequest, address: IPAddress) -> EgressDecision:
        self.asked += address == PUBLIC
        return EgressDecision(address == PUBLIC and self.asked % 2 == 1, "odd")


PUBLIC = IPv4Address("8.8.8.8")


class RefusesNothing(Wrong):
    async def allow(self, request: EgressRequest) -> EgressDecision:
        return EgressDecision(True)

    async def allow_address(self, request: EgressRequest, address: IPAddress) -> EgressDecision:
        return EgressDecision(True)


class Boolean(Wrong):
    async def allow(self, request: EgressRequest) -> EgressDecision:
        return True  # type: ignore[return-value]  # the mistake that is shown here


class LooksIntoNoWrapping(Wrong):
    async def allow_address(self, request: EgressRequest, address: IPAddress) -> EgressDecision:
        if address in WRAPPED_LOOPBACK:
            return EgressDecision(True)
        return await super().allow_address(request, address)


WRAPPED_LOOPBACK = {wrap(IPv4Address("127.0.0.0")) for wrap in WRAPPINGS.values()}


class TrustsTheConfigured(Wrong):
    async def allow_address(self, request: EgressRequest, address: IPAddress) -> EgressDecision:
        return EgressDecision(True) if request.configured else await super().allow_address(request, address)


class TrustsAfterARedirect(Wrong):
    async def allow_address(self, request: EgressRequest, address: IPAddress) -> EgressDecision:
        return EgressDecision(True) if request.hop else await super().allow_address(request, address)


class TrustsNumbers(Wrong):
    async def allow_address(self, request: EgressRequest, address: IPAddress) -> EgressDecision:
        return (
            EgressDecision(True) if "." not in request.host else await super().allow_address(request, address)
        )


class Judged(EgressContract):
    """The suite over a policy that is handed in."""

    def __init__(self, policy: Any, url: Any = EgressContract.url) -> None:
        self.judged = policy
        vars(self)["url"] = url

    def policy(self) -> EgressPolicy:
        policy: EgressPolicy = self.judged
        return policy


def rules() -> dict[str, Callable[[EgressContract], Awaitable[None]]]:
    """The tests of the suite."""
    return {name: test for name, test in vars(EgressContract).items() if name.startswith("test_")}


@pytest.mark.parametrize(
    ("policy", "broken"),
    [
        pytest.param(Wrong(), set[str](), id="right"),
        pytest.param(NoReason(), {"test_each_question_is_decided_and_a_refusal_says_why"}, id="no reason"),
        pytest.param(
            NoReasonForAHop(), {"test_each_question_is_decided_and_a_refusal_says_why"}, id="a blank reason"
        ),
        pytest.param(FlipsOverHops(), {"test_the_same_question_has_the_same_answer"}, id="changes its mind"),
        pytest.param(
            Boolean(),
            {
                "test_the_policy_can_be_asked_and_lets_its_url_be_reached",
                "test_each_question_is_decided_and_a_refusal_says_why",
            },
            id="no decision",
        ),
        pytest.param(
            LooksIntoNoWrapping(),
            {
                "test_public_addresses_and_no_others_are_let_through",
                "test_a_configured_origin_is_one_no_more_after_a_redirect",
            },
            id="no unwrapping",
        ),
        pytest.param(
            TrustsTheConfigured(),
            {"test_metadata_is_let_through_not_even_for_a_configured_origin"},
            id="trusts the configured",
        ),
        pytest.param(
            TrustsAfterARedirect(),
            {"test_a_configured_origin_is_one_no_more_after_a_redirect"},
            id="trusts after a redirect",
        ),
        pytest.param(
            TrustsNumbers(), {"test_no_spelling_reaches_what_is_not_public"}, id="trusts what has no dot"
        ),
        pytest.param(
            DenyAllEgress(),
            {
                "test_the_policy_can_be_asked_and_lets_its_url_be_reached",
                "test_public_addresses_and_no_others_are_let_through",
                "test_one_address_inside_refuses_the_name",
            },
            id="lets nothing through",
        ),
    ],
)
async def test_what_is_wrong_with_a_policy_fails_its_rule_and_no_other(
    policy: EgressPolicy, broken: set[str]
) -> None:
    assert set(await failures(Judged(policy))) == broken


async def failures(suite: EgressContract) -> dict[str, BaseException]:
    """How the rules fail that do."""
    failed: dict[str, BaseException] = {}
    for name, rule in rules().items():
        try:
            await rule(suite)
        except (AssertionError, pytest.fail.Exception) as error:
            failed[name] = error
    return failed


async def test_a_policy_that_refuses_nothing_has_given_no_reason() -> None:
    failed = await failures(Judged(RefusesNothing()))
    assert "refuses nothing at all" in str(failed["test_each_question_is_decided_and_a_refusal_says_why"])


async def test_an_address_that_is_let_through_now_and_then_is_named() -> None:
    failed = await failures(Judged(FlipsOverAnAddress()))
    assert "8.8.8.8: " in str(failed["test_the_same_question_has_the_same_answer"])


class OfAnAttribute(Judged):
    policy = PublicOnly()  # type: ignore[assignment]  # the mistake that is shown here


class OfACoroutine(Judged):
    async def policy(self) -> EgressPolicy:  # type: ignore[override]  # the mistake that is shown here
        return PublicOnly()


class Halved:
    async def allow(self, request: EgressRequest) -> EgressDecision:
        return await PublicOnly().allow(request)


class Plain(Wrong):
    def allow_address(self, request: EgressRequest, address: IPAddress) -> EgressDecision:  # type: ignore[override]  # the mistake that is shown here
        raise AssertionError(request, address)


@pytest.mark.parametrize(
    ("suite", "told"),
    [
        pytest.param(Judged(None), "policy() gives a NoneType without allow, allow_address", id="nothing"),
        pytest.param(Judged(PublicOnly), "policy() gives the class PublicOnly itself", id="a class"),
        pytest.param(Judged(Halved()), "policy() gives a Halved without allow_address", id="half of one"),
        pytest.param(Judged(Plain()), "a Plain whose allow_address is not async", id="one in sync"),
        pytest.param(
            OfAnAttribute(None), "policy is a PublicOnly; write def policy(self, …)", id="an attribute"
        ),
        pytest.param(OfACoroutine(None), "policy() is async, and nobody awaits it", id="a coroutine"),
        pytest.param(
            Judged(PublicOnly(), "api.example.com"), "url is 'api.example.com': its scheme", id="a host"
        ),
        pytest.param(Judged(PublicOnly(), None), "url is None: write a text", id="no text"),
        pytest.param(
            Judged(PublicOnly(), "http://10.0.0.1/"),
            "the policy refuses 'http://10.0.0.1/': the host leads to",
            id="a url that is refused",
        ),
    ],
)
async def test_a_suite_that_cannot_be_judged_says_so_in_one_line(suite: Judged, told: str) -> None:
    failed = await failures(suite)
    said = str(failed["test_the_policy_can_be_asked_and_lets_its_url_be_reached"])
    assert told in said
    assert "\n" not in said
    for error in failed.values():
        assert isinstance(error, pytest.fail.Exception)
        assert not error.pytrace


@pytest.mark.parametrize(("host", "address"), [pytest.param(*each, id=each[0]) for each in NUMBERS.items()])
def test_the_resolver_makes_of_a_number_what_the_table_says(host: str, address: str) -> None:
    found = socket.getaddrinfo(host, 80, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    assert [entry[4][0] for entry in found] == [address]


@pytest.mark.parametrize(("host", "address"), [pytest.param(*each, id=each[0]) for each in BRACKETED.items()])
def test_a_bracketed_host_is_the_address_that_the_table_says(host: str, address: str) -> None:
    assert ip_address(host.strip("[]")) == ip_address(address)
