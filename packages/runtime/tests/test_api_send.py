"""Messages to a Run and requests to stop it: from the header alone, once, whoever writes beside."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from anyio import create_task_group

from packages.runtime.tests.api_scenes import (
    ACME,
    RUN,
    STORES,
    CountingStore,
    UnluckyStore,
    asking,
    log,
    of_type,
    opened,
    queued,
    stored,
    types,
)
from psych_runtime import (
    AbortRequested,
    HeaderChange,
    InMemoryStore,
    QueueEnqueued,
    QueueFull,
    QueueKind,
    RunAlreadySettled,
    RunId,
    RunNotFound,
    Store,
    StoreUnavailable,
    TerminalState,
    WorkerId,
    interrupt,
    send,
    state,
    verify,
)
from psych_runtime.testing import FakeClock, LogBuilder, VirtualClock, run_virtual
from psych_runtime_core.ports.writes import HeaderAction
from psych_runtime_core.state.fold import facts_of


@pytest.fixture(params=STORES)
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    async with opened(request.param, tmp_path, FakeClock()) as store:
        yield store


async def entries(store: Store, run_id: str = RUN) -> list[QueueEnqueued]:
    return cast("list[QueueEnqueued]", await of_type(store, "queue_enqueued", run_id))


async def header_agrees(store: Store, run_id: RunId = RUN) -> bool:
    """Whether the header says what the log folds to."""
    return (await store.get_run(run_id)).facts == facts_of(await state(store, run_id))


# --- send --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("message", "payload"),
    [
        pytest.param("faster", {"message": "faster"}, id="a text"),
        pytest.param({"do": ["this"]}, {"do": ["this"]}, id="an object"),
        pytest.param(" ", {"message": " "}, id="a blank is a text"),
    ],
)
@pytest.mark.parametrize("queue", [QueueKind.STEER, "follow_up"])
async def test_a_message_is_recorded_and_counted(
    store: Store, message: Any, payload: object, queue: QueueKind | str
) -> None:
    run_id = await queued(store)
    entry_id = await send(store, run_id, message=message, queue=queue, by="bob")
    (entry,) = await entries(store, run_id)
    assert (entry.entry_id, entry.payload, entry.queue, entry.sent_by) == (entry_id, payload, queue, "bob")
    assert entry_id.startswith("qe_")
    assert await header_agrees(store, run_id)


async def test_who_sends_is_the_scopes_principal_unless_told(store: Store) -> None:
    await stored(store, log())
    await send(store, RUN, message="a", scope=ACME)
    await send(store, RUN, message="b", scope=ACME, by="bob")
    await send(store, RUN, message="c")
    assert [entry.sent_by for entry in await entries(store)] == ["ada", "bob", None]


async def test_two_messages_without_a_key_are_two(store: Store) -> None:
    await stored(store, log())
    assert await send(store, RUN, message="a") != await send(store, RUN, message="a")
    assert len(await entries(store)) == 2


async def test_one_key_is_one_message_whatever_came_after(store: Store) -> None:
    await stored(store, log())
    first = await send(store, RUN, message="a", key="k")
    await send(store, RUN, message="b")
    await interrupt(store, RUN)
    assert await send(store, RUN, message="a", key="k") == first
    assert [entry.entry_id for entry in await entries(store)].count(first) == 1
    assert await header_agrees(store)


async def test_thirty_sends_of_one_key_at_once_are_one_message(store: Store) -> None:
    run_id = await queued(store)
    ids = await asyncio.gather(*(send(store, run_id, message="a", key="k") for _ in range(30)))
    assert len(set(ids)) == len(await entries(store, run_id)) == 1


@pytest.mark.parametrize(
    "built",
    [
        pytest.param(log().attempt().settled("failed"), id="settled"),
        pytest.param(log().attempt().abort(), id="stopping"),
        pytest.param(log().abort(), id="stopping in the queue"),
    ],
)
async def test_a_run_that_ends_takes_no_message(store: Store, built: LogBuilder) -> None:
    before = await stored(store, built)
    with pytest.raises(RunAlreadySettled):
        await send(store, RUN, message="a")
    assert (await store.get_run(RUN)).head == before.head


async def test_message_one_thousand_and_one_is_refused(store: Store) -> None:
    header = await stored(store, log())
    built = log().enqueued()
    facts = replace(header.facts, pending=999)
    await store.append(RUN, header.head, built.entries()[1:], HeaderChange(facts=facts))
    await send(store, RUN, message="the last one")
    with pytest.raises(QueueFull) as refused:
        await send(store, RUN, message="one more")
    assert (refused.value.run_id, refused.value.pending) == (RUN, 1_000)
    assert len(await entries(store)) == 2


async def test_a_parked_run_is_woken(store: Store) -> None:
    await stored(store, asking("refund"))
    (claim,) = (await store.claim(WorkerId("w"))).claims
    await store.release(claim.lease, None, after=claim.header.head)
    assert not (await store.claim(WorkerId("w"))).claims
    await send(store, RUN, message="hurry")
    assert (await store.claim(WorkerId("w"))).claims


# --- interrupt -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "built",
    [
        pytest.param(log(), id="queued"),
        pytest.param(log().attempt(), id="running"),
        pytest.param(asking("refund"), id="waiting"),
    ],
)
async def test_a_run_is_asked_to_stop_once(store: Store, built: LogBuilder) -> None:
    await stored(store, built)
    await interrupt(store, RUN, reason="wrong customer", scope=ACME)
    await interrupt(store, RUN, reason="again", by="bob")
    (abort,) = cast("list[AbortRequested]", await of_type(store, "abort_requested"))
    assert (abort.reason, abort.requested_by) == ("wrong customer", "ada")
    assert await header_agrees(store)
    assert (await store.claim(WorkerId("w"))).claims


async def test_a_settled_run_stays_as_it_is(store: Store) -> None:
    before = await stored(store, log().attempt().settled("failed"))
    await interrupt(store, RUN)
    assert (await store.get_run(RUN)).head == before.head


# --- whoever writes beside ------------------------------------------------------------------------------

BUSY_SECONDS = 0.002
Act = Callable[[Store], Awaitable[object]]


async def steers(store: Store) -> object:
    return await send(store, RUN, message="ours")


async def steers_by_key(store: Store) -> object:
    return await send(store, RUN, message="ours", key="k")


async def interrupts(store: Store) -> None:
    await interrupt(store, RUN, reason="ours")


ACTS = [
    pytest.param(steers, "queue_enqueued", id="send"),
    pytest.param(steers_by_key, "queue_enqueued", id="send by key"),
    pytest.param(interrupts, "abort_requested", id="interrupt"),
]
MISHAPS = [
    ["lost"],
    ["overtaken"],
    ["raced"],
    ["raced", "lost"],
    ["raced", "overtaken"],
    ["lost", "lost"],
    ["silent"],
    ["silent", "raced", "overtaken"],
    ["lost", "away"],
    ["raced", "raced"],
]


async def ours(store: Store, kind: str) -> int:
    """How many records of ours there are."""
    records: list[Any] = await of_type(store, kind)
    said = [getattr(record, "reason", None) or record.payload["message"] for record in records]
    return said.count("ours")


@pytest.mark.parametrize(("act", "kind"), ACTS)
@pytest.mark.parametrize("mishaps", MISHAPS, ids=" then ".join)
def test_it_lands_exactly_once_whatever_the_store_does(act: Act, kind: str, mishaps: list[str]) -> None:
    async def main() -> None:
        store = UnluckyStore(clock=VirtualClock())
        await stored(store, log())
        store.mishaps = list(mishaps)
        await act(store)
        assert not store.mishaps
        assert await ours(store, kind) == 1
        assert await header_agrees(store)
        await verify(store, RUN)

    run_virtual(main)


async def test_a_write_that_did_not_happen_says_so() -> None:
    store = UnluckyStore()
    await stored(store, log())
    store.mishaps = ["away"]
    with pytest.raises(StoreUnavailable) as away:
        await send(store, RUN, message="ours")
    assert away.value.outcome == "none"
    assert await ours(store, "queue_enqueued") == 0


@pytest.mark.parametrize(("act", "kind"), ACTS)
def test_it_lands_exactly_once_beside_a_writer_that_never_rests(act: Act, kind: str) -> None:
    async def main() -> None:
        store = InMemoryStore(clock=VirtualClock())
        await stored(store, log())
        written = 0

        async def busy() -> None:
            nonlocal written
            while True:
                await send(store, RUN, message="busy")
                written += 1
                await store.clock.sleep(BUSY_SECONDS)

        async with create_task_group() as group:
            group.start_soon(busy)
            while written < 3:
                await store.clock.sleep(BUSY_SECONDS)
            await act(store)
            group.cancel_scope.cancel()
        assert await ours(store, kind) == 1

    run_virtual(main)


def test_who_keeps_losing_pauses_after_the_third_time() -> None:
    async def main() -> tuple[float, float]:
        store = UnluckyStore(clock=VirtualClock())
        await stored(store, log())
        store.mishaps = ["raced"] * 2
        await send(store, RUN, message="ours")
        at_once = store.clock.monotonic()
        store.mishaps = ["raced"] * 12
        await send(store, RUN, message="ours")
        assert await ours(store, "queue_enqueued") == 2
        return at_once, store.clock.monotonic()

    at_once, paused = run_virtual(main)
    assert at_once == 0
    assert 10 * 0.05 <= paused <= 10 * 0.2


async def test_a_message_that_met_the_settling_was_not_sent() -> None:
    store = UnluckyStore()
    await stored(store, log().attempt())

    async def settles(run_id: RunId) -> None:
        (claim,) = (await store.claim(WorkerId("w"))).claims
        ending = log().attempt().attempt().settled("failed").entries()[2:]
        change = HeaderChange(HeaderAction.SETTLE, terminal=TerminalState.FAILED)
        await InMemoryStore.append(store, run_id, claim.header.head, ending, change, claim.lease)

    store.somebody_writes = settles  # type: ignore[method-assign]  # what happens in between
    store.mishaps = ["raced"]
    with pytest.raises(RunAlreadySettled):
        await send(store, RUN, message="ours")
    store.mishaps = []
    await interrupt(store, RUN)
    assert (await types(store))[-1] == "run_settled"


# --- what it costs -----------------------------------------------------------------------------------


@pytest.mark.parametrize("act", [steers, interrupts])
async def test_the_length_of_a_log_costs_nothing(act: Act) -> None:
    store = CountingStore()
    await stored(store, asking("refund"))
    store.calls.clear()
    await act(store)
    assert store.calls == {"get_run": 1, "commit": 1}
    assert store.entries_read == 0


@pytest.mark.parametrize("act", [steers, steers_by_key, interrupts])
async def test_an_unknown_run_is_not_found(store: Store, act: Act) -> None:
    with pytest.raises(RunNotFound):
        await act(store)
