"""How a policy is asked: bounded, and a policy that fails denies."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from ipaddress import ip_address
from types import SimpleNamespace
from typing import Any, cast

import anyio
import pytest

from psych_runtime.egress import judge
from psych_runtime.egress.judge import judged, judged_addresses
from psych_runtime.egress.policy import AllOf, AllowAllEgress
from psych_runtime.egress.target import hop_of
from psych_runtime_core.ports.egress import EgressDecision, EgressPolicy, EgressRequest, IPAddress
from psych_runtime_core.scope import Scope

HOP = hop_of("GET", "https://api.example.com/", scope=Scope(tenant="acme"), purpose="model")
ADDRESSES = [ip_address(text) for text in ("8.8.8.8", "1.1.1.1", "9.9.9.9")]


class Scripted:
    """Answers as the test says, and remembers the addresses."""

    def __init__(self, answer: Callable[[], Awaitable[Any]]) -> None:
        self.answer = answer
        self.addresses: list[IPAddress] = []

    async def allow(self, request: EgressRequest) -> EgressDecision:
        answer: EgressDecision = await self.answer()
        return answer

    async def allow_address(self, request: EgressRequest, address: IPAddress) -> EgressDecision:
        self.addresses.append(address)
        answer: EgressDecision = await self.answer()
        return answer


def giving(answer: object) -> Scripted:
    async def give() -> object:
        return answer

    return Scripted(give)


def raising(error: BaseException) -> Scripted:
    async def fail() -> object:
        raise error

    return Scripted(fail)


async def test_an_answer_is_handed_on() -> None:
    yes, no = EgressDecision(True), EgressDecision(False, "not on a Sunday")
    assert await judged(giving(yes), HOP) == yes
    assert await judged(giving(no), HOP) == no
    assert await judged_addresses(giving(yes), HOP, ADDRESSES) == yes
    assert await judged_addresses(giving(no), HOP, ADDRESSES) == no


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(None, id="None"),
        pytest.param(True, id="True"),
        pytest.param("yes", id="a text"),
        pytest.param(EgressDecision, id="the class"),
        pytest.param(EgressDecision("no"), id="an allowed that is a text"),  # type: ignore[arg-type]  # the mistake
        pytest.param(EgressDecision(1), id="an allowed that is a number"),  # type: ignore[arg-type]  # the mistake
        pytest.param(EgressDecision(False), id="a refusal without a reason"),
    ],
)
async def test_all_but_a_plain_yes_denies_with_a_reason(answer: object) -> None:
    for decision in (
        await judged(giving(answer), HOP),
        await judged_addresses(giving(answer), HOP, ADDRESSES),
    ):
        assert decision.allowed is False
        assert "the egress policy Scripted" in decision.reason


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(RuntimeError("the password is hunter2"), id="an error"),
        pytest.param(TimeoutError(), id="a timeout of its own"),
        pytest.param(asyncio.CancelledError(), id="a cancellation of its own"),
    ],
)
async def test_a_policy_that_raises_denies_and_the_log_has_its_error(
    error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    decision = await judged(raising(error), HOP)
    assert decision == EgressDecision(
        False, "the egress policy Scripted failed, so it denies; the log has its error"
    )
    assert not (await judged_addresses(raising(error), HOP, ADDRESSES)).allowed
    assert [(each.levelno, each.exc_info and each.exc_info[1]) for each in caplog.records] == [
        (logging.ERROR, error)
    ] * 2


class Halved:
    """A policy that only judges hops."""

    async def allow(self, request: EgressRequest) -> EgressDecision:
        return EgressDecision(True)


async def test_a_policy_that_cannot_be_asked_denies() -> None:
    policy = cast("EgressPolicy", Halved())
    assert (await judged(policy, HOP)).allowed
    assert not (await judged_addresses(policy, HOP, ADDRESSES)).allowed


async def test_a_policy_that_hangs_denies_and_the_bound_is_told(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(judge, "POLICY_SECONDS", 0.0)
    late = EgressDecision(
        False, "the egress policy Scripted gave no answer within 0 s, so it denies; the log has its error"
    )
    assert await judged(Scripted(anyio.sleep_forever), HOP) == late
    assert await judged_addresses(Scripted(anyio.sleep_forever), HOP, ADDRESSES) == late
    assert [each.getMessage() for each in caplog.records] == [
        "the egress policy gave no answer within 0 s, so it denies"
    ] * 2


async def test_a_policy_that_swallows_its_cancellation_denies(monkeypatch: pytest.MonkeyPatch) -> None:
    async def stubborn() -> EgressDecision:
        with contextlib.suppress(asyncio.CancelledError):
            await anyio.sleep_forever()
        return EgressDecision(True)

    monkeypatch.setattr(judge, "POLICY_SECONDS", 0.0)
    assert not (await judged(Scripted(stubborn), HOP)).allowed


async def test_our_own_cancellation_passes() -> None:
    with anyio.CancelScope() as scope:
        scope.cancel()
        await judged(Scripted(anyio.sleep_forever), HOP)
        pytest.fail("the cancellation was taken for an answer")
    assert scope.cancelled_caught


async def test_a_task_that_is_cancelled_ends() -> None:
    begun = asyncio.Event()

    async def wait() -> None:
        begun.set()
        await anyio.sleep_forever()

    task = asyncio.create_task(judged(Scripted(wait), HOP))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_task_of_a_group_that_is_cancelled_ends() -> None:
    decisions: list[EgressDecision] = []
    begun = anyio.Event()

    async def wait() -> None:
        begun.set()
        await anyio.sleep_forever()

    async def ask() -> None:
        decisions.append(await judged(Scripted(wait), HOP))

    async with anyio.create_task_group() as group:
        group.start_soon(ask)
        await begun.wait()
        group.cancel_scope.cancel()
    assert decisions == []


@pytest.mark.parametrize("place", range(3))
async def test_a_refusal_of_one_address_refuses_the_name(place: int) -> None:
    async def third_is_refused() -> EgressDecision:
        return EgressDecision(len(policy.addresses) <= place, "this one")

    policy = Scripted(third_is_refused)
    assert await judged_addresses(policy, HOP, ADDRESSES) == EgressDecision(False, "this one")
    assert policy.addresses == ADDRESSES[: place + 1]


async def test_every_address_is_asked() -> None:
    policy = giving(EgressDecision(True))
    assert (await judged_addresses(policy, HOP, ADDRESSES)).allowed
    assert policy.addresses == ADDRESSES


async def test_no_address_at_all_is_refused() -> None:
    decision = await judged_addresses(giving(EgressDecision(True)), HOP, [])
    assert not decision.allowed
    assert decision.reason


GARBAGE = [
    pytest.param(EgressDecision(cast("bool", "no"), "x"), id="a word"),
    pytest.param(EgressDecision(cast("bool", 1)), id="a number"),
    pytest.param(EgressDecision(cast("bool", None)), id="nothing"),
    pytest.param(None, id="no decision"),
    pytest.param(True, id="a bare yes"),
    pytest.param(SimpleNamespace(allowed=True), id="one that looks like a decision"),
]


@pytest.mark.parametrize("answer", GARBAGE)
@pytest.mark.parametrize("within", [0, 1, 2])
async def test_what_is_no_yes_stays_none_however_deep_it_stands(answer: object, within: int) -> None:
    policy: EgressPolicy = giving(answer)
    for _ in range(within):
        policy = AllOf(AllowAllEgress(), policy)
    assert (await judged(policy, HOP)).allowed is False
    assert (await judged_addresses(policy, HOP, ADDRESSES)).allowed is False


@pytest.mark.parametrize("reason", ["", None, object(), b"no"], ids=["empty", "none", "an object", "bytes"])
async def test_a_refusal_has_a_reason_in_words(reason: Any) -> None:
    decision = await judged(giving(EgressDecision(False, reason)), HOP)
    assert decision == EgressDecision(False, "the egress policy Scripted refused it and gave no reason")


async def test_a_reason_is_cut() -> None:
    decision = await judged(giving(EgressDecision(False, "x" * 10_000)), HOP)
    assert decision.reason == "x" * judge.MAX_REASON
