"""Headers, Versions, and the life of a store itself."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from anyio import create_task_group

from psych_runtime_contract.store.admissions import Admissions
from psych_runtime_contract.store.findings import Findings
from psych_runtime_contract.store.imports import Imports
from psych_runtime_contract.store.keys import GoneKeys
from psych_runtime_contract.store.scenes import RUN, START, WORKER, admission, admit
from psych_runtime_contract.store.time import StoreTime
from psych_runtime_core.errors import StoreError, VersionNotFound
from psych_runtime_core.ids import VersionHash
from psych_runtime_core.ports.store import Store
from psych_runtime_core.records.facts import SuspendReason
from psych_runtime_core.scope import Scope
from psych_runtime_core.spec.agent import AgentSpec
from psych_runtime_core.spec.model import ModelRef
from psych_runtime_core.version import Version

WIDE = "\N{GRINNING FACE}" * 256
SPEC = AgentSpec(name="agent", model=ModelRef(model="small"))


class StoreRuns(Admissions, Imports, Findings, GoneKeys):
    """One header a Run, one Run an idempotency key, one Version a hash."""

    @pytest.mark.parametrize(
        "fields",
        [
            pytest.param({}, id="the defaults"),
            pytest.param({"priority": -100, "ready_at": None, "parked": True}, id="parked and last"),
            pytest.param({"priority": 100, "ready_at": START + timedelta(days=36_500)}, id="in 100 years"),
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
                    "scope": Scope(
                        tenant="acme", labels={WIDE[:-2] + f"{number:02}": WIDE for number in range(32)}
                    ),
                    "parent_run_id": "parent",
                    "root_run_id": "root",
                    "continues_run_id": "yesterday",
                    "delegation_depth": 3,
                },
                id="the place in a tree, and all labels",
            ),
            pytest.param(
                {
                    "deadline_at": START + timedelta(microseconds=1),
                    "waits": tuple((SuspendReason.APPROVAL, 2**40 + number) for number in range(64)),
                    "pending": 1_000,
                    "stopping": True,
                    "blobs": True,
                    "attempt_count": 1_000_000,
                },
                id="all facts",
            ),
        ],
    )
    async def test_every_field_of_a_header_comes_back(
        self, store: Store, second: Store, time: StoreTime, fields: dict[str, Any]
    ) -> None:
        write, since = admission(**fields), time.now()
        await store.admit(write.header, write.entries)
        kept, ready_at = await second.get_run(RUN), write.header.ready_at
        if ready_at is not None and ready_at < since:
            ready_at = time.told(kept.ready_at, since)
        assert kept == write.header.model_copy(update={"ready_at": ready_at})

    # --- Versions ----------------------------------------------------------------------------------------

    async def test_a_version_is_kept_with_the_time_it_was_first_published(
        self, store: Store, second: Store, time: StoreTime
    ) -> None:
        version, since = Version.of(SPEC), time.now()
        first = await store.put_version(version)
        assert first == replace(version, published_at=time.told(first.published_at, since))
        await time.passes(0.000_001)
        assert await second.put_version(version) == first
        assert await store.get_version(version.hash) == first

    async def test_of_eight_publications_at_once_the_first_is_kept(
        self, store: Store, second: Store, time: StoreTime
    ) -> None:
        stored: list[Version] = []

        async def publish(number: int) -> None:
            await time.passes(0.000_001)
            stored.append(await (second if number % 2 else store).put_version(Version.of(SPEC)))

        async with create_task_group() as group:
            for number in range(8):
                group.start_soon(publish, number)
        assert len({each.published_at for each in stored}) == 1

    async def test_a_version_that_is_not_there_is_named(self, store: Store) -> None:
        with pytest.raises(VersionNotFound) as caught:
            await store.get_version(VersionHash("sha256:none"))
        assert caught.value.version_hash == "sha256:none"

    # --- the store itself --------------------------------------------------------------------------------

    async def test_a_store_is_closed_once_and_for_all(self, store: Store) -> None:
        await admit(store)
        await store.close()
        await store.close()
        with pytest.raises(StoreError, match="closed"):
            await store.get_run(RUN)
        with pytest.raises(StoreError, match="closed"):
            await store.claim(WORKER)
        with pytest.raises(StoreError, match="closed"):
            async with store.changes([RUN]) as watch:
                await watch.wait(1)

    @pytest.mark.needs("caps.durable")
    async def test_what_was_written_is_there_when_a_store_is_opened_again(self, store: Store) -> None:
        header = await admit(store)
        version = await store.put_version(Version.of(SPEC))
        await store.close()
        async with self.another(store) as opened_again:
            assert await opened_again.get_run(RUN) == header
            assert len(await opened_again.read(RUN)) == 1
            assert await opened_again.get_version(version.hash) == version

    async def test_migrating_twice_changes_nothing(self, store: Store) -> None:
        header = await admit(store)
        report = await store.migrate()
        assert report.applied == ()
        assert report.from_ == report.to
        assert await store.get_run(RUN) == header

    async def test_a_store_tells_how_it_does(self, store: Store) -> None:
        check = await store.check()
        assert check.backend
        assert check.push is self.caps.push
        assert check.latency_seconds >= 0
