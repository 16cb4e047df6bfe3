"""What a store tells of itself: its queue in numbers, its health, its schema."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from heapq import nsmallest
from typing import Literal, get_args

from pydantic import BaseModel, ConfigDict

from psych_runtime_core.ports.runs import OPEN_STATES, RunState
from psych_runtime_core.records.base import Count, Instant

MOST_COUNTED = 10_000
"""Where a count of Runs ends."""


class TenantStats(BaseModel):
    """The open Runs of a tenant. `oldest_ready_seconds`: how long its oldest ready Run has waited."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    tenant: str
    ready: Count
    running: Count
    suspended: Count
    oldest_ready_seconds: float | None


class StoreStats(BaseModel):
    """The open Runs of a store at `now`, by its clock; settled Runs are not counted.

    `ready` may be claimed at once; of the `running` ones `expired_leases` may, too. `tenants` are those whose
    ready work is oldest. A count stops at 10 000 rows; `capped`: one did.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    now: Instant
    ready: Count
    running: Count
    suspended: Count
    expired_leases: Count
    oldest_ready_seconds: float | None
    capped: bool
    tenants: tuple[TenantStats, ...]


@dataclass(slots=True)
class Counts:
    """The open Runs of a tenant: how many are in a state and, or not yet, due to be looked at.

    `since`: when the oldest one that may be claimed became ready.
    """

    standing: Counter[tuple[RunState, bool]] = field(default_factory=Counter[tuple[RunState, bool]])
    since: datetime | None = None


def store_stats(now: datetime, by_tenant: Mapping[str, Counts], top: int) -> StoreStats:
    """What the counts of tenants come to, with the `top` tenants whose ready work is oldest."""
    total = sum((counts.standing for counts in by_tenant.values()), Counter[tuple[RunState, bool]]())
    oldest = {name: counts.since for name, counts in by_tenant.items() if counts.since is not None}
    # Of two states that are each counted whole, Runs may be counted together as ready.
    walked = (total[state, True] + total[state, False] for state in OPEN_STATES)
    return StoreStats(
        now=now,
        **_numbers(total),
        expired_leases=min(total[RunState.RUNNING, True], MOST_COUNTED),
        oldest_ready_seconds=_seconds(min(oldest.values(), default=None), now),
        capped=any(number > MOST_COUNTED for number in (_ready(total), *walked)),
        tenants=tuple(
            TenantStats(
                tenant=name,
                **_numbers(by_tenant[name].standing),
                oldest_ready_seconds=_seconds(oldest[name], now),
            )
            for name in nsmallest(top, oldest, key=lambda name: (oldest[name], name))
        ),
    )


def _numbers(standing: Counter[tuple[RunState, bool]]) -> dict[str, int]:
    """As what Runs are counted. A delayed one is counted as nothing."""
    running = standing[RunState.RUNNING, True] + standing[RunState.RUNNING, False]
    suspended = standing[RunState.SUSPENDED, False]
    numbers = {"ready": _ready(standing), "running": running, "suspended": suspended}
    return {name: min(number, MOST_COUNTED) for name, number in numbers.items()}


def _ready(standing: Counter[tuple[RunState, bool]]) -> int:
    return standing[RunState.RUNNABLE, True] + standing[RunState.SUSPENDED, True]


def _seconds(since: datetime | None, now: datetime) -> float | None:
    return None if since is None else (now - since).total_seconds()


Schema = Literal["current", "pending", "newer", "none"]
Topic = Literal["open", "schema", "durability", "clock", "latency", "library", "blobs", "leftovers"]
"""What a warning of a store is about, as the checks of `psych doctor` are called: `store.open` and so on."""


@dataclass(frozen=True, slots=True)
class StoreCheck:
    """A store's health, as found by asking it once.

    `schema`: "pending" lacks migrations, "newer" was written by a later release, "none" has no schema.
    `push`: wake-ups are pushed; without it watches poll. `clock_offset_seconds`: how far its clock is ahead
    of this process's; `latency_seconds`: of one question. `warnings` say what is wrong and what to do, each
    behind its topic and a colon: "library: too old; …". Raises `ValueError` for other words.
    """

    backend: str
    server_version: str
    schema: Schema
    push: bool
    durability: str
    clock_offset_seconds: float
    latency_seconds: float
    warnings: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.schema not in get_args(Schema):
            raise ValueError(f"schema is one of {', '.join(get_args(Schema))}; not {self.schema!r}")
        if not self.durability.strip():
            raise ValueError("durability says in a word or more what an acknowledged write survives")
        for warning in self.warnings:
            topic, _, text = warning.partition(": ")
            if topic not in get_args(Topic) or not text.strip():
                topics = ", ".join(get_args(Topic))
                raise ValueError(f'a warning is "topic: text", of one of {topics}; not {warning!r}')

    def about(self, topic: Topic) -> tuple[str, ...]:
        """The warnings about this, without its name."""
        named = f"{topic}: "
        return tuple(each.removeprefix(named) for each in self.warnings if each.startswith(named))


@dataclass(frozen=True, slots=True)
class MigrationReport:
    """The schema levels before and after, and the names of the migrations applied and still to come.

    A name says its phase behind its number: `0004_pre_…` or `0004_post_…`. A setting has no number, as
    `journal_mode_wal`, and is due in both.
    """

    from_: int
    to: int
    applied: tuple[str, ...] = ()
    pending: tuple[str, ...] = ()

    def due(self, phase: Literal["pre", "post"]) -> tuple[str, ...]:
        """What of the pending that phase applies: `pre` leaves those of `post`, which applies all."""
        return tuple(name for name in self.pending if phase == "post" or not _OF_POST.match(name))


_OF_POST = re.compile(r"\d{4}_post_")
