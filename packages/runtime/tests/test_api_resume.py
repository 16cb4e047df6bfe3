"""Answers to approvals: each to its own Wait, once, or a refusal that wrote nothing."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any, cast

import pytest

from packages.runtime.tests.api_scenes import (
    ACME,
    RUN,
    STORES,
    UnluckyStore,
    asking,
    log,
    of_type,
    opened,
    stored,
    types,
)
from psych_runtime import (
    Answer,
    Resumed,
    RunAlreadySettled,
    RunNotFound,
    RunNotSuspended,
    Store,
    SuspensionExpired,
    WaitAmbiguous,
    WaitNotFound,
    WorkerId,
    approve,
    call_digest,
    deny,
    interrupt,
    resume,
    resume_all,
    send,
    state,
    verify,
)
from psych_runtime.testing import FakeClock, LogBuilder, VirtualClock, run_virtual
from psych_runtime.testing.log_builder import SALT
from psych_runtime_core.state.fold import facts_of


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture(params=STORES)
async def store(request: pytest.FixtureRequest, tmp_path: Path, clock: FakeClock) -> AsyncGenerator[Store]:
    async with opened(request.param, tmp_path, clock) as store:
        yield store


async def waits(store: Store) -> list[str]:
    """The ids of the open Waits, oldest first."""
    return [wait.wait_id for wait in (await state(store, RUN)).open_waits]


async def resumed(store: Store) -> list[Resumed]:
    return cast("list[Resumed]", await of_type(store, "resumed"))


async def header_agrees(store: Store) -> bool:
    """Whether the header says what the log folds to."""
    return (await store.get_run(RUN)).facts == facts_of(await state(store, RUN))


def acted_on() -> LogBuilder:
    """An approval that was answered by Bob, and the call that then ran."""
    return asking("refund").resumed(resumed_by="bob").tool_started().tool_finished()


# --- what is recorded ----------------------------------------------------------------------------------


@pytest.mark.parametrize("named", [False, True])
async def test_a_yes_is_recorded_with_the_digest_that_was_shown(store: Store, named: bool) -> None:
    await stored(store, asking("refund"))
    (wait,) = (await state(store, RUN)).open_waits
    await approve(store, RUN, wait.wait_id if named else None, scope=ACME)
    (answer,) = await resumed(store)
    assert (answer.wait_id, answer.approved, answer.resumed_by) == (wait.wait_id, True, "ada")
    assert answer.shown_digest == answer.arguments_digest == wait.arguments_digest
    assert (answer.arguments, answer.payload, answer.remember) == (None, {}, None)
    assert await header_agrees(store)
    assert (await store.claim(WorkerId("w"))).claims


async def test_a_no_says_why(store: Store) -> None:
    await stored(store, asking("refund"))
    await deny(store, RUN, reason="too much", remember="tool", by="bob")
    (answer,) = await resumed(store)
    assert (answer.approved, answer.payload, answer.arguments_digest) == (False, {"reason": "too much"}, None)
    assert (answer.resumed_by, answer.remember) == ("bob", "tool")
    assert await header_agrees(store)


async def test_edited_arguments_are_recorded_with_both_digests(store: Store) -> None:
    await stored(store, asking("refund"))
    await approve(store, RUN, arguments={"amount": 5}, remember="arguments")
    (answer,) = await resumed(store)
    assert answer.arguments == {"amount": 5}
    assert answer.arguments_digest == call_digest(SALT, "refund", {"amount": 5})
    assert answer.shown_digest == call_digest(SALT, "refund", {"amount": 0})


async def test_arguments_that_change_nothing_are_no_edit(store: Store) -> None:
    await stored(store, asking("refund"))
    await approve(store, RUN, arguments={"amount": 0.0})
    (answer,) = await resumed(store)
    assert answer.arguments is None
    assert answer.arguments_digest == answer.shown_digest


async def test_a_parked_run_that_is_answered_is_woken(store: Store) -> None:
    await stored(store, asking("refund"))
    (claim,) = (await store.claim(WorkerId("w"))).claims
    await store.release(claim.lease, None, after=claim.header.head)
    await approve(store, RUN)
    assert (await store.claim(WorkerId("w"))).claims


# --- which Wait ----------------------------------------------------------------------------------------


async def test_several_waits_are_answered_in_any_order_each_to_its_own_call(store: Store) -> None:
    await stored(store, asking("refund", "mail", "delete"))
    first, second, third = await waits(store)
    await deny(store, RUN, third)
    await approve(store, RUN, first)
    await approve(store, RUN)
    answers = [(answer.wait_id, answer.approved) for answer in await resumed(store)]
    assert answers == [(third, False), (first, True), (second, True)]
    assert await header_agrees(store)


async def test_several_waits_are_answered_in_one_commit(store: Store) -> None:
    await stored(store, asking("refund", "mail", "delete"))
    first, second, third = await waits(store)
    before = await store.get_run(RUN)
    answers = {third: Answer(approved=True), first: Answer(approved=False, payload={"reason": "no"})}
    await resume_all(store, RUN, answers, by="bob")
    assert (await store.get_run(RUN)).head.seq == before.head.seq + 2
    assert await waits(store) == [second]
    assert await header_agrees(store)
    await resume_all(store, RUN, {**answers, second: Answer(approved=True)}, by="bob")
    assert len(await resumed(store)) == 3


async def test_of_several_answers_one_that_is_refused_writes_none(store: Store) -> None:
    await stored(store, asking("refund", "mail"))
    first, second = await waits(store)
    with pytest.raises(WaitNotFound, match="wait_unknown"):
        await resume_all(store, RUN, {first: Answer(approved=True), "wait_unknown": Answer(approved=True)})
    with pytest.raises(ValueError, match="approved"):
        await resume_all(store, RUN, {first: Answer(approved=True), second: Answer()})
    assert await waits(store) == [first, second]


async def test_without_a_name_several_waits_are_ambiguous(store: Store) -> None:
    await stored(store, asking("refund", "mail"))
    with pytest.raises(WaitAmbiguous) as refused:
        await approve(store, RUN)
    assert list(refused.value.wait_ids) == await waits(store)


# --- refusals ------------------------------------------------------------------------------------------

YES, NO, NOTHING = {"approved": True}, {"approved": False}, dict[str, Any]()
UNKNOWN = {"wait": "wait_unknown", **YES}
SETTLED = log().attempt().settled("failed")


@pytest.mark.parametrize(
    ("built", "answer", "error"),
    [
        pytest.param(log(), YES, RunNotSuspended, id="nothing was asked"),
        pytest.param(acted_on(), YES, RunNotSuspended, id="nothing is asked any more"),
        pytest.param(log(), UNKNOWN, WaitNotFound, id="no such Wait"),
        pytest.param(asking("refund"), UNKNOWN, WaitNotFound, id="another Wait"),
        pytest.param(asking("refund"), NOTHING, WaitNotFound, id="no decision"),
        pytest.param(asking("refund"), {"payload": {"answer": "x"}}, WaitNotFound, id="a reply"),
        pytest.param(SETTLED, YES, RunAlreadySettled, id="settled"),
        pytest.param(SETTLED, UNKNOWN, RunAlreadySettled, id="settled, and named"),
        pytest.param(asking("refund").abort(), YES, RunAlreadySettled, id="stopping"),
    ],
)
async def test_what_cannot_be_answered_is_refused_and_nothing_is_written(
    store: Store, built: LogBuilder, answer: Any, error: type[Exception]
) -> None:
    before = await stored(store, built)
    with pytest.raises(error):
        await resume(store, RUN, **answer)
    assert (await store.get_run(RUN)).head == before.head


@pytest.mark.parametrize("answer", [NOTHING, {"payload": {"answer": "x"}}], ids=["nothing", "a reply"])
async def test_a_named_approval_takes_decisions_alone(store: Store, answer: Any) -> None:
    await stored(store, asking("refund"))
    (wait,) = await waits(store)
    with pytest.raises(ValueError, match="approved"):
        await resume(store, RUN, wait=wait, **answer)


async def test_a_stopping_run_takes_no_answer_to_a_named_wait(store: Store) -> None:
    await stored(store, asking("refund"))
    (wait,) = await waits(store)
    await interrupt(store, RUN)
    with pytest.raises(RunAlreadySettled):
        await approve(store, RUN, wait)


async def test_up_to_its_time_a_wait_takes_an_answer(store: Store, clock: FakeClock) -> None:
    await stored(store, asking("refund"))
    (wait,) = (await state(store, RUN)).open_waits
    await clock.advance((wait.due_at - clock.now()).total_seconds() - 1e-6)
    await approve(store, RUN, by="bob")
    assert len(await resumed(store)) == 1


@pytest.mark.parametrize("named", [False, True])
async def test_at_its_time_a_wait_has_expired(store: Store, clock: FakeClock, named: bool) -> None:
    await stored(store, asking("refund"))
    (wait,) = (await state(store, RUN)).open_waits
    await clock.advance((wait.due_at - clock.now()).total_seconds())
    with pytest.raises(SuspensionExpired) as refused:
        await approve(store, RUN, wait.wait_id if named else None)
    assert (refused.value.run_id, refused.value.wait_id) == (RUN, wait.wait_id)


@pytest.mark.parametrize("settles", [False, True])
async def test_an_expiry_that_is_recorded_has_expired_too(store: Store, settles: bool) -> None:
    built = asking("refund").resumed(approved=None, cause="expired")
    wait = next(iter(built.state().waits))
    if settles:
        built.tool_finished(outcome="aborted").settled("abandoned")
    await stored(store, built)
    with pytest.raises(SuspensionExpired):
        await approve(store, RUN, wait)


@pytest.mark.parametrize("call", [approve, deny])
async def test_an_unknown_run_is_not_found(store: Store, call: Any) -> None:
    with pytest.raises(RunNotFound):
        await call(store, RUN)


# --- the same answer again -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "after",
    [
        pytest.param((), id="at once"),
        pytest.param(("steer",), id="after a message"),
        pytest.param(("steer", "stop"), id="after a stop"),
    ],
)
async def test_an_equal_answer_by_the_same_person_changes_nothing(
    store: Store, after: tuple[str, ...]
) -> None:
    await stored(store, asking("refund"))
    (wait,) = await waits(store)
    await approve(store, RUN, wait, arguments={"amount": 5}, by="bob")
    if "steer" in after:
        await send(store, RUN, message="go on")
    if "stop" in after:
        await interrupt(store, RUN)
    await approve(store, RUN, wait, arguments={"amount": 5.0}, by="bob")
    assert len(await resumed(store)) == 1


@pytest.mark.parametrize("settles", [False, True])
async def test_an_equal_answer_is_found_in_the_log_when_its_wait_is_gone(store: Store, settles: bool) -> None:
    built = acted_on()
    if settles:
        built.settled("failed")
    await stored(store, built)
    wait = (await resumed(store))[0].wait_id
    await approve(store, RUN, wait, by="bob")
    with pytest.raises(WaitNotFound, match="answered already"):
        await deny(store, RUN, wait, by="bob")
    assert len(await resumed(store)) == 1


async def test_an_equal_answer_without_a_name_changes_nothing_until_somebody_acts(store: Store) -> None:
    await stored(store, asking("refund"))
    await approve(store, RUN, by="bob")
    await approve(store, RUN, by="bob")
    with pytest.raises(RunNotSuspended):
        await deny(store, RUN, by="bob")
    assert len(await resumed(store)) == 1


@pytest.mark.parametrize(
    "other",
    [
        pytest.param({**NO, "by": "bob"}, id="a no"),
        pytest.param({**YES, "by": "eve"}, id="another person"),
        pytest.param({**YES}, id="nobody"),
        pytest.param({**YES, "by": "bob", "arguments": {"amount": 1}}, id="other arguments"),
        pytest.param({**YES, "by": "bob", "remember": "tool"}, id="remembered"),
        pytest.param({"by": "bob"}, id="no decision"),
    ],
)
async def test_another_answer_is_told_that_there_is_one(store: Store, other: Any) -> None:
    await stored(store, asking("refund"))
    (wait,) = await waits(store)
    await approve(store, RUN, wait, by="bob")
    with pytest.raises(WaitNotFound, match="answered already") as refused:
        await resume(store, RUN, wait=wait, **other)
    assert refused.value.wait_id == wait


# --- a store that fails, people who race ------------------------------------------------------------------


@pytest.mark.parametrize(
    "mishaps",
    [
        ["lost"],
        ["overtaken"],
        ["raced"],
        ["raced", "overtaken"],
        ["silent", "raced", "lost"],
        ["lost", "away"],
        ["raced"] * 5,
    ],
    ids=" then ".join,
)
@pytest.mark.parametrize("many", [False, True])
def test_an_answer_lands_exactly_once_whatever_the_store_does(mishaps: list[str], many: bool) -> None:
    async def main() -> None:
        store = UnluckyStore(clock=VirtualClock())
        await stored(store, asking("refund", "mail"))
        first, second = await waits(store)
        store.mishaps = list(mishaps)
        if many:
            await resume_all(store, RUN, {second: Answer(approved=True), first: Answer(approved=False)})
        else:
            await approve(store, RUN, second)
        assert not store.mishaps
        assert len(await resumed(store)) == 1 + many
        assert await header_agrees(store)
        await verify(store, RUN)

    run_virtual(main)


async def test_of_many_people_at_once_one_answers(store: Store) -> None:
    await stored(store, asking("refund"))
    (wait,) = await waits(store)
    calls = (resume(store, RUN, wait=wait, approved=n % 2 == 0, by=f"person-{n}") for n in range(8))
    answers = await asyncio.gather(*calls, return_exceptions=True)
    assert [type(answer) for answer in answers].count(WaitNotFound) == 7
    assert (await types(store)).count("resumed") == 1
