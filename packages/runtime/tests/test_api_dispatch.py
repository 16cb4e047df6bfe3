"""Publishing, and the beginning of Runs."""

import asyncio
import re
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from packages.runtime.tests.api_scenes import (
    ACME,
    OTHER_SPEC,
    RIVAL,
    SPEC,
    STORES,
    VERSION,
    CountingStore,
    UnluckyStore,
    opened,
    types,
)
from psych_runtime import (
    AgentSpec,
    Dispatched,
    IdempotencyConflict,
    InMemoryStore,
    Limits,
    RunAdmitted,
    Scope,
    SpecValidationError,
    Store,
    StoreUnavailable,
    ValidationContext,
    VersionNotFound,
    WorkerId,
    dispatch,
    publish,
    records,
)
from psych_runtime.testing import FakeClock, VirtualClock, run_virtual


@pytest.fixture(params=STORES)
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    async with opened(request.param, tmp_path) as store:
        yield store


async def admitted(store: Store, run_id: str) -> RunAdmitted:
    (first,) = await records(store, run_id, limit=1)
    assert isinstance(first, RunAdmitted)
    return first


# --- publish -----------------------------------------------------------------------------------------


async def test_publishing_again_gives_the_stored_version(store: Store) -> None:
    first = await publish(store, SPEC)
    assert first.published_at is not None
    assert await publish(store, SPEC.model_copy()) == first


async def test_all_issues_of_a_spec_are_told_and_nothing_is_stored() -> None:
    spec = AgentSpec.model_validate({**SPEC.model_dump(), "tools": [{"name": "a"}, {"name": "b"}]})
    store = CountingStore()
    with pytest.raises(SpecValidationError) as refused:
        await publish(store, spec, context=ValidationContext(registered_tools=()))
    assert [issue.path for issue in refused.value.issues] == ["/tools/0/name", "/tools/1/name"]


async def test_a_spec_made_around_validation_is_never_stored(store: Store) -> None:
    with pytest.raises(SpecValidationError):
        await publish(store, AgentSpec.model_construct(name="no name", model=SPEC.model))


# --- admission -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("what", [SPEC, VERSION], ids=["a Spec", "a Version"])
async def test_what_is_dispatched_is_stored_first(store: Store, what: Any) -> None:
    run_id = (await dispatch(store, what, ACME, input="hello")).run_id
    assert (await store.get_version(VERSION.hash)).spec == SPEC
    assert (await admitted(store, run_id)).version_hash == VERSION.hash


async def test_a_stored_version_is_dispatched_by_its_hash(store: Store) -> None:
    with pytest.raises(VersionNotFound):
        await dispatch(store, VERSION.hash, ACME)
    await publish(store, SPEC)
    assert (await dispatch(store, VERSION.hash, ACME)).created


async def test_a_dispatched_run_is_claimable_with_its_first_record(store: Store) -> None:
    dispatched = await dispatch(store, SPEC, ACME, input={"n": 1}, priority=7)
    assert dispatched == Dispatched(dispatched.run_id, created=True)
    header = await store.get_run(dispatched.run_id)
    assert (header.name, header.scope, header.priority, header.head.seq) == ("clerk", ACME, 7, 1)
    first = await admitted(store, dispatched.run_id)
    assert (first.input, first.scope, first.root_run_id) == ({"n": 1}, ACME, dispatched.run_id)
    assert first.deadline_at == header.deadline_at == first.at + timedelta(seconds=900)
    (claim,) = (await store.claim(WorkerId("w"))).claims
    assert claim.header.run_id == dispatched.run_id


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        pytest.param("hi", {"message": "hi"}, id="a text is a message"),
        pytest.param({"a": [1, None]}, {"a": [1, None]}, id="an object stays as it is"),
        pytest.param(None, {}, id="nothing is an empty object"),
        pytest.param("\ud800", {"message": "\ud800"}, id="a lone surrogate is kept"),
        pytest.param("x" * (2**20 - 14), {"message": "x" * (2**20 - 14)}, id="1 MiB"),
    ],
)
async def test_an_input_is_a_json_object(store: Store, given: Any, kept: object) -> None:
    run_id = (await dispatch(store, SPEC, ACME, input=given)).run_id
    assert (await admitted(store, run_id)).input == kept


async def test_a_run_id_begins_with_its_time() -> None:
    clock = FakeClock()
    run_id = (await dispatch(InMemoryStore(clock=clock), SPEC, ACME)).run_id
    time = re.fullmatch(r"run_([0-9a-f]{12})[0-9a-f]{24}", run_id)
    assert time is not None
    assert int(time[1], 16) == int(clock.now().timestamp() * 1000)


async def test_salts_and_ids_of_equal_requests_differ(store: Store) -> None:
    runs = [await admitted(store, (await dispatch(store, SPEC, ACME)).run_id) for _ in range(2)]
    assert len({run.digest_salt for run in runs}) == len({run.run_id for run in runs}) == 2


async def test_a_delayed_run_is_not_claimable_before_and_its_deadline_starts_after() -> None:
    clock = FakeClock()
    store = InMemoryStore(clock=clock)
    run_id = (await dispatch(store, SPEC, ACME, delay_seconds=60, deadline_seconds=30)).run_id
    header, first = await store.get_run(run_id), await admitted(store, run_id)
    assert first.not_before == header.ready_at == clock.now() + timedelta(seconds=60)
    assert first.deadline_at == header.deadline_at == clock.now() + timedelta(seconds=90)
    assert not (await store.claim(WorkerId("w"))).claims
    await clock.advance(60)
    assert (await store.claim(WorkerId("w"))).claims


async def test_the_deadline_is_the_specs_unless_given() -> None:
    clock = FakeClock()
    store = InMemoryStore(clock=clock)
    spec = SPEC.model_copy(update={"limits": Limits(deadline_seconds=5)})
    own = await admitted(store, (await dispatch(store, spec, ACME)).run_id)
    given = await admitted(store, (await dispatch(store, spec, ACME, deadline_seconds=86_400)).run_id)
    assert own.deadline_at - own.at == timedelta(seconds=5)
    assert given.deadline_at - given.at == timedelta(days=1)


# --- idempotency -----------------------------------------------------------------------------------------


async def test_thirty_dispatches_of_one_key_at_once_make_one_run(store: Store) -> None:
    asked = (dispatch(store, SPEC, ACME, input={"n": 1}, idempotency_key="order-17") for _ in range(30))
    answers = await asyncio.gather(*asked)
    assert len({answer.run_id for answer in answers}) == 1
    assert sum(answer.created for answer in answers) == 1
    assert await types(store, answers[0].run_id) == ["run_admitted"]


async def test_equal_requests_may_be_written_differently(store: Store) -> None:
    first = await dispatch(store, SPEC, ACME, input={"n": 1, "s": "a"}, idempotency_key="k")
    again = await dispatch(
        store,
        VERSION.hash,
        Scope(tenant="acme", principal="bob"),
        input={"s": "a", "n": 1.0},
        idempotency_key="k",
        priority=9,
        delay_seconds=5,
        deadline_seconds=7,
    )
    assert again == Dispatched(first.run_id, created=False)


@pytest.mark.parametrize(
    ("what", "given", "field"),
    [
        pytest.param(SPEC, {"n": 2}, "input", id="another input"),
        pytest.param(OTHER_SPEC, {"n": 1}, "version", id="another Version"),
        pytest.param(OTHER_SPEC, {"n": 2}, "version", id="both"),
        pytest.param(SPEC, {"n": True}, "input", id="true is not 1"),
    ],
)
async def test_another_request_under_a_key_names_what_differs(
    store: Store, what: AgentSpec, given: Any, field: str
) -> None:
    first = await dispatch(store, SPEC, ACME, input={"n": 1}, idempotency_key="k")
    with pytest.raises(IdempotencyConflict) as refused:
        await dispatch(store, what, ACME, input=given, idempotency_key="k")
    assert (refused.value.key, refused.value.run_id, refused.value.field) == ("k", first.run_id, field)
    assert await types(store, first.run_id) == ["run_admitted"]


async def test_tenants_share_no_key(store: Store) -> None:
    one = await dispatch(store, SPEC, ACME, input="a", idempotency_key="k")
    two = await dispatch(store, SPEC, RIVAL, input="b", idempotency_key="k")
    assert two.created
    assert one.run_id != two.run_id


async def test_a_request_is_not_found_out_by_guessing_its_input(store: Store) -> None:
    headers = [await store.get_run((await dispatch(store, SPEC, ACME, input="yes")).run_id) for _ in range(2)]
    assert headers[0].request != headers[1].request


# --- a store that fails ------------------------------------------------------------------------------


@pytest.mark.parametrize("key", [None, "k"])
@pytest.mark.parametrize("mishaps", [["lost"], ["lost", "lost"], ["silent", "lost"], ["lost", "away"]])
def test_an_admission_whose_answer_is_lost_makes_one_run(mishaps: list[str], key: str | None) -> None:
    async def main() -> None:
        store = UnluckyStore(*mishaps, clock=VirtualClock())
        dispatched = await dispatch(store, SPEC, ACME, idempotency_key=key)
        assert dispatched.created
        claims = (await store.claim(WorkerId("w"), limit=100)).claims
        assert [claim.header.run_id for claim in claims] == [dispatched.run_id]

    run_virtual(main)


async def test_an_admission_that_wrote_nothing_says_so() -> None:
    store = UnluckyStore("away")
    with pytest.raises(StoreUnavailable) as away:
        await dispatch(store, SPEC, ACME, idempotency_key="k")
    assert away.value.outcome == "none"
    assert not (await store.claim(WorkerId("w"))).claims
    assert (await dispatch(store, SPEC, ACME, idempotency_key="k")).created
