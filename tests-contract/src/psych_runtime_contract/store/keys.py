"""Idempotency keys of Runs that are gone: each answers for its time, and nothing is left that tells of it."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from psych_runtime_contract.plugin import leave_out
from psych_runtime_contract.store.base import StoreBase
from psych_runtime_contract.store.endings import child, of, over, store_all
from psych_runtime_contract.store.scenes import (
    OTHER_REQUEST,
    OTHER_RUN,
    REQUEST,
    RUN,
    admission,
    admit,
    claim,
    end,
)
from psych_runtime_contract.store.time import MICROSECOND, StoreTime
from psych_runtime_core.errors import IdempotencyConflict, RunNotFound
from psych_runtime_core.ports.keys import KEY_SECONDS
from psych_runtime_core.ports.store import Store

KEY = "order of ada@example.com"
OF_RUN = of(RUN)
LIFE = timedelta(seconds=KEY_SECONDS)

GONE = pytest.mark.parametrize("gone", ["purge", "erase", "erase and purge"])


async def again(store: Store, run_id: str = OTHER_RUN, **also: Any) -> str:
    """The Run that stands when one is to begin with the key once more."""
    write = admission(run_id, bodies=[b"again"], **{"idempotency_key": KEY, **also})
    return await store.admit(write.header, write.entries)


async def let_go(store: Store, gone: str) -> None:
    """The Run goes, or what it said of a person."""
    if "erase" in gone:
        assert await store.erase(OF_RUN) == 1
    if "purge" in gone:
        assert len(await store.purge(OF_RUN)) == 1


class GoneKeys(StoreBase):
    """What a key answers when its Run does not say it any more."""

    def dump(self, store: Store) -> str:
        """All data that `store` keeps, as text and hex digits. Override it where it can be had."""
        del store
        leave_out("dump(store)")

    @GONE
    async def test_a_key_answers_with_the_old_run_and_begins_none(
        self, store: Store, second: Store, gone: str
    ) -> None:
        await store_all(store, over(RUN, idempotency_key=KEY))
        await let_go(store, gone)
        for handle in (store, second):
            assert await again(handle) == RUN
            with pytest.raises(RunNotFound):
                await handle.get_run(OTHER_RUN)

    @GONE
    async def test_a_key_conflicts_with_another_request_and_names_its_run(
        self, store: Store, gone: str
    ) -> None:
        await store_all(store, over(RUN, idempotency_key=KEY))
        await let_go(store, gone)
        with pytest.raises(IdempotencyConflict) as caught:
            await again(store, request=OTHER_REQUEST)
        assert (caught.value.key, caught.value.run_id) == (KEY, RUN)
        with pytest.raises(RunNotFound):
            await store.get_run(OTHER_RUN)

    @GONE
    async def test_a_key_of_another_tenant_or_spelling_is_free(self, store: Store, gone: str) -> None:
        await store_all(store, over(RUN, idempotency_key=KEY))
        await let_go(store, gone)
        assert await again(store, "run_c", tenant="Acme") == "run_c"
        assert await again(store, "run_d", idempotency_key=KEY.title()) == "run_d"

    @GONE
    async def test_a_key_is_free_when_its_time_is_over(
        self, store: Store, time: StoreTime, gone: str
    ) -> None:
        time.must_be_moved()
        await admit(store, idempotency_key=KEY)
        await end(store, (await claim(store)).lease)
        await time.passes(100)
        ends = await self.dated(store, time, gone)
        await time.reaches(ends - MICROSECOND)
        assert await again(store) == RUN
        await time.reaches(ends)
        assert await again(store, request=OTHER_REQUEST) == OTHER_RUN
        assert await again(store, "run_c", request=OTHER_REQUEST) == OTHER_RUN

    async def dated(self, store: Store, time: StoreTime, gone: str) -> datetime:
        """When a key is free again: counted from the first time that something went."""
        first, _, later = gone.partition(" and ")
        since = time.now()
        await let_go(store, first)
        await time.passes(100)
        if later:
            await let_go(store, later)
        return since + LIFE

    async def test_a_key_whose_run_stands_answers_beyond_that_time(
        self, store: Store, time: StoreTime
    ) -> None:
        time.must_be_moved()
        await store_all(store, over(RUN, idempotency_key=KEY))
        await time.passes(2 * KEY_SECONDS)
        await admit(store, "run_z")
        assert await again(store) == RUN

    async def test_a_purge_that_is_only_tried_dates_no_key(self, store: Store, time: StoreTime) -> None:
        time.must_be_moved()
        await store_all(store, over(RUN, idempotency_key=KEY))
        assert len(await store.purge(OF_RUN, dry_run=True)) == 1
        await time.passes(2 * KEY_SECONDS)
        await admit(store, "run_z")
        assert await again(store) == RUN

    async def test_the_key_of_a_child_outlives_its_tree(self, store: Store) -> None:
        await store_all(store, over("root"), child("below", "root", "root", idempotency_key=KEY))
        assert len(await store.purge(of("root"))) == 2
        assert await again(store) == "below"

    async def test_a_run_that_comes_again_under_its_id_finds_its_key_taken_by_itself(
        self, store: Store
    ) -> None:
        await store_all(store, over(RUN, idempotency_key=KEY))
        await let_go(store, "purge")
        assert await again(store, RUN) == RUN
        with pytest.raises(RunNotFound):
            await store.get_run(RUN)

    @GONE
    async def test_neither_key_nor_request_is_left_anywhere(self, store: Store, gone: str) -> None:
        await store_all(store, over(RUN, idempotency_key=KEY), over(OTHER_RUN, request=OTHER_REQUEST))
        assert self.tells_of(store, KEY.encode()), "what `dump` gives has all that is stored"
        assert self.tells_of(store, REQUEST)
        await let_go(store, gone)
        assert not self.tells_of(store, KEY.encode())
        assert not self.tells_of(store, REQUEST)

    def tells_of(self, store: Store, text: bytes) -> bool:
        """Whether a text is anywhere in what is stored."""
        dumped = self.dump(store)
        return text.hex() in dumped.lower() or text.decode() in dumped
