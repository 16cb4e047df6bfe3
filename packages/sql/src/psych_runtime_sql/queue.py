"""Who is claimed next: tenants in turn, and the order inside a tenant."""

from __future__ import annotations

import random
import string
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain, islice, zip_longest

from psych_runtime_core.ids import RunId, VersionHash, WorkerId
from psych_runtime_core.ports.claims import ClaimFilter
from psych_runtime_sql.driver import Driver, Row
from psych_runtime_sql.json_columns import json_array
from psych_runtime_sql.rows import micros
from psych_runtime_sql.statements import PROMOTED_AT_ONCE, Statements
from psych_runtime_sql.versions_in_turn import VersionsInTurn

TENANTS_IN_VAIN = 64
"""So many tenants that give nothing are looked at by one claim; the next one begins behind them."""


@dataclass(frozen=True, slots=True)
class Picked:
    """Runs in the order of their claim.

    `more`: fewer than asked for, and others are left for their tenant's cap, or were not looked at. `due`: of
    those whose time has come, some are not ready yet.
    """

    run_ids: tuple[RunId, ...]
    more: bool
    due: bool


@dataclass(frozen=True, slots=True)
class Look:
    """What one pick looks with, and which Versions of a tenant it looks at.

    `exclude` is `only.exclude` as one parameter.
    """

    driver: Driver
    only: ClaimFilter
    now: int
    exclude: str
    versions: dict[str, list[VersionHash]] = field(default_factory=dict[str, list[VersionHash]])


@dataclass(frozen=True, slots=True)
class Hand:
    """What a tenant would be given, at most as many as it has room for; `more` wait for room."""

    run_ids: tuple[RunId, ...]
    more: bool


@dataclass(frozen=True, slots=True)
class Round:
    """The hands of tenants in turn; `stopped` before all were looked at, since too many gave nothing."""

    hands: dict[str, Hand]
    stopped: bool = False

    @property
    def has_more(self) -> bool:
        """Whether a cap holds Runs back, or may."""
        return self.stopped or any(hand.more for hand in self.hands.values())


class Queue:
    """Picks ready Runs. It remembers, for each Worker, where its next round begins.

    That is behind the tenant that was served last, or looked at last when a round stopped.
    """

    def __init__(self, statements: Statements) -> None:
        self._sql = statements
        self._versions = VersionsInTurn(statements)
        self._last: dict[WorkerId, str] = {}

    async def pick(
        self, driver: Driver, worker_id: WorkerId, limit: int, only: ClaimFilter, now: datetime
    ) -> Picked:
        """Up to `limit` Runs whose `ready_at` has come and that `only` lets through."""
        # Workers that start together begin with different tenants.
        last = self._last.get(worker_id, random.choice(string.ascii_letters + string.digits))
        look = Look(driver, only, micros(now), json_array(only.exclude))
        due = len(await self._sql.promote.fetch(driver, {"now": look.now})) == PROMOTED_AT_ONCE
        turns = await self._round(look, last, limit)
        dealt = deal({tenant: hand.run_ids for tenant, hand in turns.hands.items()}, limit)
        if dealt or turns.stopped:
            self._last[worker_id] = next(reversed(turns.hands)) if turns.stopped else dealt[-1][0]
        is_short = len(dealt) < limit
        run_ids = tuple(run_id for _, run_id in dealt)
        return Picked(run_ids, more=is_short and (due or turns.has_more), due=is_short and due)

    async def _round(self, look: Look, last: str, limit: int) -> Round:
        """What tenants would be given: those behind `last` and around, until `limit` have something."""
        hands: dict[str, Hand] = {}
        served, stopped = 0, False
        async with aclosing(self._ring(look, last)) as ring:
            async for tenant in ring:
                if stopped := len(hands) - served == TENANTS_IN_VAIN:
                    break
                hands[tenant] = hand = await self._hand(look, tenant, 1)
                served += bool(hand.run_ids)
                if served == limit:
                    return Round(hands)
        for tenant, hand in hands.items():
            if hand.run_ids:
                hands[tenant] = await self._hand(look, tenant, limit - served + 1)
        return Round(hands, stopped)

    async def _ring(self, look: Look, last: str) -> AsyncGenerator[str]:
        """The tenants with ready work, each once: those behind `last` first."""
        if look.only.tenants is not None:
            named = {"tenants": json_array(look.only.tenants)}
            ready = [tenant for (tenant,) in await self._sql.ready_tenants.fetch(look.driver, named)]
            for tenant in sorted(ready, key=lambda tenant: (tenant <= last, tenant)):
                yield tenant
            return
        for begin, end in ((last, None), ("", last)):
            tenant = begin
            while tenant := await self._next_tenant(look, tenant):
                if end is not None and tenant > end:
                    break
                yield tenant

    async def _next_tenant(self, look: Look, behind: str) -> str:
        rows = await self._sql.next_tenant.fetch(look.driver, {"behind": behind})
        return rows[0][0] if rows else ""

    async def _hand(self, look: Look, tenant: str, limit: int) -> Hand:
        """A tenant's first Runs; one more than it has room for tells whether any waits for room."""
        room = await self._room(look, tenant)
        asked = limit if room is None else min(limit, room) + 1
        found: list[Row] = []
        for version in await self._versions_of(look, tenant):
            of = {"tenant": tenant, "version_hash": version, "exclude": look.exclude}
            found += await self._sql.pick.fetch(look.driver, {**of, "now": look.now, "limit": asked})
        found.sort(key=lambda row: (-row[0], *row[1:]))
        run_ids = tuple(run_id for _, _, run_id in found)
        if room is None:
            return Hand(run_ids[:limit], more=False)
        return Hand(run_ids[: min(limit, room)], more=len(run_ids) > room)

    async def _versions_of(self, look: Look, tenant: str) -> list[VersionHash]:
        """The same however often one pick asks: the next ones are for the next pick."""
        if tenant not in look.versions:
            look.versions[tenant] = await self._versions.of(look.driver, tenant, look.only.skip_versions)
        return look.versions[tenant]

    async def _room(self, look: Look, tenant: str) -> int | None:
        """How many more Runs of a tenant may be leased; None for any number."""
        cap = look.only.cap_of(tenant)
        if cap is None:
            return None
        values = {"tenant": tenant, "now": look.now, "limit": cap}
        leased: int = (await self._sql.leased.fetch(look.driver, values))[0][0]
        return cap - leased


def deal(first: Mapping[str, Sequence[RunId]], limit: int) -> list[tuple[str, RunId]]:
    """One Run of each tenant, then the next one of each, `limit` in all."""
    hands = ([(tenant, run_id) for run_id in runs] for tenant, runs in first.items())
    return list(islice(filter(None, chain.from_iterable(zip_longest(*hands))), limit))
