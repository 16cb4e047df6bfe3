"""Ten thousand queued Runs of one tenant, and the single one of another."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from psych_runtime.testing.clock import FakeClock
from psych_runtime_contract.store.scenes import (
    OTHER_WORKER,
    WORKER,
    admission,
    admit,
    admit_all,
    claimed_ids,
    copies,
)
from psych_runtime_core.ports.claims import ClaimFilter
from psych_runtime_core.ports.store import Store
from psych_runtime_memory import InMemoryStore
from psych_runtime_sqlite import SQLiteStore

FLOOD = 10_000


@pytest.fixture(params=["memory", "sqlite"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[Store]:
    """A store with the flood, of which a few rounds were claimed already."""
    file = SQLiteStore(tmp_path / "psych.db", synchronous="normal", operation_seconds=60, clock=FakeClock())
    async with InMemoryStore(clock=FakeClock()) if request.param == "memory" else file as store:
        await store.migrate()
        await admit_all(
            store, *copies(admission(priority=100), *[f"flood_{each:05}" for each in range(FLOOD)])
        )
        for worker in (WORKER, OTHER_WORKER, WORKER):
            assert len(await claimed_ids(store, worker, limit=8)) == 8
        yield store


async def test_a_flood_delays_the_run_of_another_tenant_by_one_round_of_claims(store: Store) -> None:
    await admit(store, "taken_with_others", tenant="globex", priority=-100)
    assert "taken_with_others" in await claimed_ids(store, limit=8)
    await admit(store, "taken_alone", tenant="globex", priority=-100)
    assert "taken_alone" in [*await claimed_ids(store), *await claimed_ids(store)]
    await admit(store, "beside_a_cap", tenant="globex", priority=-100)
    capped = ClaimFilter(tenant_concurrency={"acme": 3})
    assert await claimed_ids(store, only=capped) == ["beside_a_cap"]
    assert (await store.claim(OTHER_WORKER, only=capped)).more
