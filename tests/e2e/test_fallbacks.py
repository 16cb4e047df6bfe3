"""Several models over two providers: who is asked next and when, and when nobody is."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from psych_runtime import AgentSpec, Limits, ModelRef, RunId, RunStateView, Store, interrupt, records
from psych_runtime.model.by_model import ByModel
from psych_runtime.testing import FakeModel
from psych_runtime_core.messages import AssistantMessage
from psych_runtime_core.ports.model import ModelCallContext, ModelRequest
from psych_runtime_core.records.turn import ModelCallFailed, ModelCallFinished
from psych_runtime_core.spec.tools import CodeTool
from tests.e2e.stage import at_work, begun, ended, in_virtual_time, only, registered, seen

GPT, MINI, CLAUDE = "gpt-5", "gpt-5-mini", "claude-4"
MINUTE = 60.0


class Provider(FakeModel):
    def __init__(self, provider: str) -> None:
        super().__init__()
        self.provider = provider


@dataclass
class House:
    """Two providers behind one client, and a Spec that names models of both."""

    fallbacks: tuple[str, ...] = (CLAUDE,)
    limits: Limits = field(default_factory=Limits)
    gpt: Provider = field(default_factory=lambda: Provider("openai"))
    claude: Provider = field(default_factory=lambda: Provider("anthropic"))

    @property
    def model(self) -> ByModel:
        return ByModel({"gpt-*": self.gpt, "claude-*": self.claude})

    @property
    def spec(self) -> AgentSpec:
        return AgentSpec(
            name="clerk",
            instructions="Serve the customer.",
            model=ModelRef(model=GPT, fallbacks=self.fallbacks),
            tools=(CodeTool(name="look"),),
            limits=self.limits,
        )

    @property
    def calls(self) -> int:
        return len(self.gpt.calls) + len(self.claude.calls)

    async def played(self, store: Store) -> tuple[RunId, RunStateView]:
        """A Run from its dispatch to its end."""
        async with at_work(store, self.model, registered(look, annotations="read-only")):
            run_id = await begun(store, self.spec)
            return run_id, await ended(store, run_id)


async def look(name: str) -> str:
    """Look something up."""
    return f"all about {name}"


LOOK = [("look", {"name": "it"})]


async def tries(store: Store, run_id: RunId) -> list[str]:
    """The models in the order in which they were asked, `!` where one failed."""
    ends = [
        record
        for record in await records(store, run_id)
        if isinstance(record, ModelCallFailed | ModelCallFinished)
    ]
    return [f"{end.model}!" if isinstance(end, ModelCallFailed) else end.model for end in ends]


def outcome(state: RunStateView) -> str:
    assert state.settled is not None
    return state.settled.failure.kind if state.settled.failure else state.settled.state


@in_virtual_time
async def test_the_other_provider_answers_at_once(virtual_store: Store) -> None:
    house = House()
    house.gpt.fails("transient", status=529, retry_after=600)
    house.claude.turn("Here.")
    begun_at = virtual_store.clock.monotonic()
    run_id, state = await house.played(virtual_store)
    assert outcome(state) == "completed"
    assert await tries(virtual_store, run_id) == [f"{GPT}!", CLAUDE]
    assert virtual_store.clock.monotonic() - begun_at < 5
    assert [request.model for request in house.claude.requests] == [CLAUDE]


@in_virtual_time
async def test_a_round_begins_again_after_its_last_name_and_later_each_time(virtual_store: Store) -> None:
    house = House((MINI, CLAUDE))
    for model in (GPT, MINI):
        house.gpt.when(model=model).raises_transient().raises_transient()
    house.gpt.when(model=GPT).turn("At last.")
    house.claude.raises_transient().raises_transient()
    run_id, state = await house.played(virtual_store)
    assert outcome(state) == "completed"
    assert await tries(virtual_store, run_id) == [f"{name}!" for name in (GPT, MINI, CLAUDE) * 2] + [GPT]
    failed = only(ModelCallFailed, await records(virtual_store, run_id))
    pauses = [
        (failure.retry_at - failure.at).total_seconds() if failure.retry_at else None for failure in failed
    ]
    assert [pause is None for pause in pauses] == [True, True, False] * 2
    first, second = pauses[2], pauses[5]
    assert first is not None
    assert second is not None
    assert 0.2 < first <= 0.5 <= second <= 1.0


async def test_a_withdrawn_name_is_left_for_the_next_and_asked_again_next_turn(store: Store) -> None:
    house = House()
    gone = house.gpt.fails("permanent", status=404, code="model_not_found")
    house.claude.raises_transient().turn(tool_calls=LOOK)
    gone.turn("It is back.")
    run_id, state = await house.played(store)
    assert outcome(state) == "completed"
    assert await tries(store, run_id) == [f"{GPT}!", f"{CLAUDE}!", CLAUDE, GPT]


async def test_a_name_that_no_client_takes_is_a_withdrawn_one(store: Store) -> None:
    house = House(("llama-4", CLAUDE))
    house.gpt.raises_transient()
    house.claude.turn("Here.")
    run_id, state = await house.played(store)
    assert outcome(state) == "completed"
    assert await tries(store, run_id) == [f"{GPT}!", "llama-4!", CLAUDE]


async def test_no_name_left_fails_the_run(store: Store) -> None:
    house = House(("llama-4",))
    house.gpt.fails("permanent", code="model_not_found")
    run_id, state = await house.played(store)
    assert outcome(state) == "permanent"
    assert await tries(store, run_id) == [f"{GPT}!", "llama-4!"]


@pytest.mark.parametrize("kind", ["permanent", "auth", "content_filter"])
@pytest.mark.parametrize("after", ["", "Half of it"])
async def test_a_refusal_is_not_shopped_around(store: Store, kind: str, after: str) -> None:
    house = House((MINI, CLAUDE))
    house.gpt.fails(kind, after=after)
    house.claude.turn("Never asked.")
    run_id, state = await house.played(store)
    assert outcome(state) == kind
    assert await tries(store, run_id) == [f"{GPT}!"]
    assert house.calls == 1


async def test_the_budget_bounds_the_tries_over_all_names(store: Store) -> None:
    house = House((MINI, CLAUDE), Limits(transient_retry_budget=2))
    house.gpt.raises_transient().repeat()
    house.claude.raises_transient().repeat()
    _, state = await house.played(store)
    assert outcome(state) == "transient"
    assert house.calls == 3


@in_virtual_time
async def test_names_that_may_be_asked_after_the_deadline_alone_fail_at_once(virtual_store: Store) -> None:
    house = House(limits=Limits(deadline_seconds=60))
    house.gpt.fails("transient", status=429, retry_after=600)
    house.claude.fails("transient", status=429, retry_after=900)
    begun_at = virtual_store.clock.monotonic()
    _, state = await house.played(virtual_store)
    assert outcome(state) == "transient"
    assert house.calls == 2
    assert virtual_store.clock.monotonic() - begun_at < 5


@in_virtual_time
async def test_no_name_is_asked_before_its_own_hint(virtual_store: Store) -> None:
    house = House()
    house.gpt.fails("transient", status=429, retry_after=100)
    house.claude.fails("transient", status=429, retry_after=40).turn("Here.")
    run_id, state = await house.played(virtual_store)
    assert outcome(state) == "completed"
    assert await tries(virtual_store, run_id) == [f"{GPT}!", f"{CLAUDE}!", CLAUDE]
    (_, failed) = only(ModelCallFailed, await records(virtual_store, run_id))
    (answered,) = only(ModelCallFinished, await records(virtual_store, run_id))
    assert 40 <= (answered.at - failed.at).total_seconds() <= 50


# --- what each provider is shown -------------------------------------------------------------------------


async def test_each_message_says_who_really_made_it_after_a_fallback_and_back(store: Store) -> None:
    house = House()
    house.gpt.turn(reasoning="Hm.", opaque="signed by openai", tool_calls=LOOK).raises_transient()
    house.claude.turn(reasoning="Aha.", opaque="signed by anthropic", tool_calls=LOOK)
    house.gpt.turn("Here.")
    _, state = await house.played(store)
    assert outcome(state) == "completed"
    said = [message for message in house.gpt.last_request.messages if isinstance(message, AssistantMessage)]
    assert [(message.source.provider, message.source.model) for message in said] == [
        ("openai", GPT),
        ("anthropic", CLAUDE),
    ]


# --- nothing is called after a stop ------------------------------------------------------------------------


def waits_for_its_retry(state: RunStateView) -> bool:
    return any(lane.retry_at is not None for lane in state.lanes.values())


def is_asked(state: RunStateView) -> bool:
    return any(lane.phase == "calling" for lane in state.lanes.values())


@pytest.mark.parametrize(
    ("moment", "calls"),
    [
        pytest.param(waits_for_its_retry, 2, id="in the wait for a retry"),
        pytest.param(is_asked, 1, id="before the first byte"),
    ],
)
def test_an_abort_ends_the_call_and_nothing_is_called_after_it(
    moment: Callable[[RunStateView], bool], calls: int, virtual_store: Store
) -> None:
    house = House()
    if moment is is_asked:
        house.gpt.turn("At length.", delay=10 * MINUTE)
    else:
        house.gpt.fails("transient", retry_after=300).turn("Never asked.")
    house.claude.fails("transient", retry_after=400).turn("Never asked.")
    stopped(virtual_store, house, moment)
    assert house.calls == calls


@in_virtual_time
async def stopped(store: Store, house: House, moment: Callable[[RunStateView], bool]) -> None:
    """The Run is interrupted in that moment, ends with it, and is left alone for an hour."""
    async with at_work(store, house.model, registered(look)):
        run_id = await begun(store, house.spec)
        await seen(store, run_id, moment)
        await asyncio.sleep(1)
        asked_at = store.clock.monotonic()
        await interrupt(store, run_id)
        state = await ended(store, run_id)
        assert outcome(state) == "aborted"
        assert store.clock.monotonic() - asked_at < 2
        await asyncio.sleep(60 * MINUTE)


# --- a Worker that goes ------------------------------------------------------------------------------------


@in_virtual_time
async def test_another_worker_keeps_the_moment_and_the_budget(virtual_store: Store) -> None:
    house = House((), Limits(transient_retry_budget=2))
    house.gpt.fails("transient", retry_after=30).repeat()
    async with at_work(virtual_store, house.model, registered(look)):
        run_id = await begun(virtual_store, house.spec)
        waiting = await seen(virtual_store, run_id, waits_for_its_retry)
    assert house.calls == 1
    retry_at = waiting.lanes[""].retry_at
    assert retry_at is not None
    async with at_work(virtual_store, house.model, registered(look)):
        state = await ended(virtual_store, run_id)
    assert outcome(state) == "transient"
    assert house.calls == 3
    failed = only(ModelCallFailed, await records(virtual_store, run_id))
    # An idle Worker looks for what is due every few seconds.
    assert 0 <= (failed[1].at - retry_at).total_seconds() < 20


@in_virtual_time
async def test_the_calls_say_how_many_failed_before_them_in_their_turn(virtual_store: Store) -> None:
    seen_by: list[tuple[str, int]] = []

    def heard(request: ModelRequest, context: ModelCallContext) -> str:
        seen_by.append((request.model, context.failures))
        return "Here."

    house = House((MINI, CLAUDE))
    house.gpt.raises_transient().raises_transient()
    house.claude.turn(heard)
    await house.played(virtual_store)
    assert seen_by == [(CLAUDE, 2)]
