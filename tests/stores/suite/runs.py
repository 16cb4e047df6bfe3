"""Headers and Versions: kept as given, told apart by every character, admitted once."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from anyio import create_task_group

from psych_runtime_core.errors import IdempotencyConflict, RunNotFound, StoreError, VersionNotFound
from psych_runtime_core.ids import RunId, VersionHash
from psych_runtime_core.ports.store import Store
from psych_runtime_core.records.facts import SuspendReason
from psych_runtime_core.scope import Scope
from psych_runtime_core.spec.agent import AgentSpec
from psych_runtime_core.spec.model import ModelRef
from psych_runtime_core.version import Version
from tests.stores.suite.base import StoreBase
from tests.stores.suite.clock import START, ManualClock
from tests.stores.suite.scenes import (
    OTHER_REQUEST,
    OTHER_RUN,
    RUN,
    WORKER,
    admission,
    admit,
    append,
    everything,
)

WIDE = "\N{GRINNING FACE}" * 256
DECOMPOSED, COMPOSED = "cafe\N{COMBINING ACUTE ACCENT}", "caf\N{LATIN SMALL LETTER E WITH ACUTE}"
NEARLY_EQUAL = ("order-1", "Order-1", "order-2", "order-1x", DECOMPOSED, COMPOSED, "ORDER-1", "order‑1")


class StoreRuns(StoreBase):
    """One header a Run, one Run an idempotency key."""

    @pytest.mark.parametrize(
        "fields",
        [
            pytest.param({}, id="the defaults"),
            pytest.param({"priority": -100, "ready_at": None, "parked": True}, id="parked and last"),
            pytest.param({"priority": 100, "ready_at": START + timedelta(days=365)}, id="first, in a year"),
            pytest.param(
                {
                    "scope": Scope(tenant=WIDE, principal=WIDE, labels={WIDE[:-1] + "a": WIDE, "b": "c"}),
                    "idempotency_key": WIDE,
                    "name": "n" * 64,
                    "root_run_id": WIDE,
                    "request": bytes(range(256))[::8],
                    "created_at": START.replace(microsecond=999_999),
                    "version_hash": "sha256:" + "f" * 64,
                },
                id="the longest texts",
            ),
            pytest.param(
                {
                    "deadline_at": START + timedelta(microseconds=1),
                    "waits": tuple((SuspendReason.APPROVAL, 2**40 + number) for number in range(64)),
                    "pending": 1_000,
                    "stopping": True,
                    "attempt_count": 1_000_000,
                },
                id="all facts",
            ),
        ],
    )
    async def test_every_field_of_a_header_comes_back(
        self, store: Store, another: Store, fields: dict[str, Any]
    ) -> None:
        write = admission(**fields)
        await store.admit(write.header, write.entries)
        kept = await another.get_run(RUN)
        ready_at = write.header.ready_at
        assert kept == write.header.model_copy(update={"ready_at": ready_at and max(ready_at, START)})

    async def test_thirty_admissions_of_one_key_make_one_run(self, store: Store, another: Store) -> None:
        answers: list[str] = []

        async def dispatch(store: Store, number: int) -> None:
            write = admission(f"run_{number}", idempotency_key="order", bodies=[b"%d" % number])
            answers.append(await store.admit(write.header, write.entries))

        async with create_task_group() as group:
            for number in range(30):
                group.start_soon(dispatch, another if number % 2 else store, number)
        (winner,) = set(answers)
        assert len(answers) == 30
        ((header, log),) = await everything(store, winner)
        assert header.head == log[-1].head
        assert len((await store.claim(WORKER, limit=100)).claims) == 1

    async def test_a_key_used_for_another_request_conflicts(self, store: Store) -> None:
        header = await admit(store, idempotency_key="order")
        other = admission(OTHER_RUN, idempotency_key="order", request=OTHER_REQUEST)
        with pytest.raises(IdempotencyConflict) as caught:
            await store.admit(other.header, other.entries)
        assert (caught.value.key, caught.value.run_id) == ("order", RUN)
        assert await store.get_run(RUN) == header
        with pytest.raises(RunNotFound):
            await store.get_run(OTHER_RUN)

    async def test_a_key_answers_when_its_run_has_moved_on(self, store: Store) -> None:
        await admit(store, idempotency_key="order")
        await append(store)
        again = admission(OTHER_RUN, idempotency_key="order", bodies=[b"again"])
        assert await store.admit(again.header, again.entries) == RUN
        assert (await store.get_run(RUN)).head.seq == 2

    async def test_keys_that_differ_at_all_are_different(self, store: Store) -> None:
        for number, key in enumerate(NEARLY_EQUAL):
            write = admission(f"run_{number}", idempotency_key=key)
            assert await store.admit(write.header, write.entries) == f"run_{number}"

    async def test_ids_and_tenants_that_differ_at_all_are_different(self, store: Store) -> None:
        for name in NEARLY_EQUAL:
            write = admission(name, tenant=name, idempotency_key="order")
            assert await store.admit(write.header, write.entries) == name
        for name in NEARLY_EQUAL:
            assert (await store.get_run(RunId(name))).scope.tenant == name

    async def test_runs_without_a_key_share_none(self, store: Store) -> None:
        await admit(store)
        assert (await admit(store, OTHER_RUN)).run_id == OTHER_RUN

    async def test_an_admission_of_a_stored_id_is_judged_by_its_request(self, store: Store) -> None:
        header = await admit(store)
        again = admission(bodies=[b"another salt"], priority=7)
        assert await store.admit(again.header, again.entries) == RUN
        assert await store.get_run(RUN) == header
        other = admission(bodies=[b"another salt"], request=OTHER_REQUEST)
        with pytest.raises(IdempotencyConflict):
            await store.admit(other.header, other.entries)
        assert await store.get_run(RUN) == header

    async def test_a_run_of_several_records_is_admitted_whole(self, store: Store) -> None:
        write = admission(bodies=[b"admitted", b"then", b"more"])
        await store.admit(write.header, write.entries)
        assert await store.read(RUN) == write.entries

    async def test_a_version_is_kept_with_the_time_it_was_first_published(
        self, store: Store, another: Store, clock: ManualClock
    ) -> None:
        version = Version.of(SPEC)
        clock.advance(0.000_001)
        first = await store.put_version(version)
        assert first == replace(version, published_at=clock.now())
        clock.advance(1)
        assert await another.put_version(version) == first
        assert await store.get_version(version.hash) == first

    async def test_of_eight_publications_at_once_the_first_is_kept(
        self, store: Store, another: Store, clock: ManualClock
    ) -> None:
        stored: list[Version] = []

        async def publish(number: int) -> None:
            clock.advance(1)
            stored.append(await (another if number % 2 else store).put_version(Version.of(SPEC)))

        async with create_task_group() as group:
            for number in range(8):
                group.start_soon(publish, number)
        assert len({each.published_at for each in stored}) == 1

    async def test_a_version_that_is_not_there_is_named(self, store: Store) -> None:
        with pytest.raises(VersionNotFound) as caught:
            await store.get_version(VersionHash("sha256:none"))
        assert caught.value.version_hash == "sha256:none"

    async def test_a_store_is_closed_once_and_for_all(self, store: Store) -> None:
        await admit(store)
        await store.close()
        await store.close()
        with pytest.raises(StoreError, match="closed"):
            await store.get_run(RUN)
        with pytest.raises(StoreError, match="closed"):
            await store.claim(WORKER)
        with pytest.raises(StoreError, match="closed"):
            async with store.changes([RUN]):
                pass

    async def test_migrating_twice_changes_nothing(self, store: Store) -> None:
        header = await admit(store)
        report = await store.migrate()
        assert report.applied == ()
        assert report.from_ == report.to
        assert await store.get_run(RUN) == header


SPEC = AgentSpec(name="agent", model=ModelRef(model="small"))
