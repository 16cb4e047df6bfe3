"""How a store does: what it says of itself, and whether one query goes through."""

from __future__ import annotations

import asyncio
from argparse import Namespace
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import get_args

from psych_runtime.cli.checkup.blobs import blobs_held, leftovers
from psych_runtime.cli.checkup.titles import TITLES, fail, ok, skip, warn
from psych_runtime.cli.documents import Check
from psych_runtime.cli.exits import verdict_of
from psych_runtime.cli.opening import opened, url_named
from psych_runtime.cli.output import without_passwords
from psych_runtime_core.errors import NotMigrated
from psych_runtime_core.ports.queries import RunQuery
from psych_runtime_core.ports.reports import StoreCheck, Topic
from psych_runtime_core.ports.store import Store

PROBE_SECONDS = 5.0
CLOCK_SECONDS = 1.0
TOPICS: tuple[Topic, ...] = get_args(Topic)
CHECKS = tuple(name for name in TITLES if name.startswith("store."))


async def store_checks(options: Namespace) -> Sequence[Check]:
    """Every check of the store that is named; none is opened where none is."""
    if not url_named(options):
        told = "no store is named"
        return [skip(name, told, "--store URL" if name == "store.open" else None) for name in CHECKS]
    try:
        async with asyncio.timeout(PROBE_SECONDS) as bound, opened(options) as store:
            asked = Asked(await store.check(), await _refusal(store))
            bound.reschedule(None)
            return [*of_answers(asked), *await _of_blobs(store, asked)]
    except TimeoutError:
        return _unopened(
            f"it did not answer within {PROBE_SECONDS:g} s", "the URL, its host, and the network"
        )
    except Exception as error:
        verdict = verdict_of(error)
        return _unopened(verdict.message, verdict.fix)


@dataclass(frozen=True, slots=True)
class Asked:
    """What a store said of itself, and how it refused a query; None: it answered."""

    check: StoreCheck
    refusal: Exception | None


def of_answers(asked: Asked) -> Iterator[Check]:
    """What follows from the answers."""
    check = asked.check
    refused = asked.refusal if not isinstance(asked.refusal, NotMigrated) else None
    if refused is not None:
        yield from _unopened(verdict_of(refused).message, verdict_of(refused).fix)[:-2]
        return
    for found in (
        ok("store.open", f"{check.backend} {check.server_version}, wake-ups are {_push(check)}"),
        _schema(asked),
        ok("store.durability", check.durability),
        _clock(check.clock_offset_seconds),
        ok("store.latency", f"{check.latency_seconds * 1_000:.1f} ms"),
        ok("store.library", check.server_version),
    ):
        yield warned(found, check)


async def _of_blobs(store: Store, asked: Asked) -> Sequence[Check]:
    if asked.refusal is not None:
        return [skip(name, "the store answers no query") for name in CHECKS[-2:]]
    held, left = await asyncio.gather(blobs_held(store, PROBE_SECONDS), leftovers(store, PROBE_SECONDS))
    return [warned(held, asked.check), warned(left, asked.check)]


async def _refusal(store: Store) -> Exception | None:
    try:
        await store.find_runs(RunQuery(limit=1))
    except Exception as error:
        return error
    return None


def _schema(asked: Asked) -> Check:
    schema, refusal = asked.check.schema, asked.refusal
    if isinstance(refusal, NotMigrated):
        return fail("store.schema", str(refusal), verdict_of(refusal).fix)
    if schema == "pending":
        return warn("store.schema", "a migration is pending", "psych migrate --plan, which lists it")
    if schema == "newer":
        told = "a later release has been here; this one still runs"
        return warn("store.schema", told, "pip install of that release here, too")
    return ok("store.schema", "current" if schema == "current" else "it has none to be migrated")


def _clock(offset: float) -> Check:
    told = f"{offset:+.3f} s from ours"
    if abs(offset) > CLOCK_SECONDS:
        return warn(
            "store.clock", told, "a time service (NTP) on both machines: leases are timed by that clock"
        )
    return ok("store.clock", told)


def warned(found: Check, check: StoreCheck) -> Check:
    """What was found, with what the store itself says about that."""
    texts = [text for topic in TOPICS if found.id == f"store.{topic}" for text in check.about(topic)]
    if not texts:
        return found
    if found.state in {"warn", "fail"}:
        return replace(found, detail="; ".join([found.detail, *texts]))
    return warn(found.id, "; ".join(texts))


def _push(check: StoreCheck) -> str:
    return "pushed" if check.push else "polled for"


def _unopened(detail: str, fix: str) -> list[Check]:
    told = fail("store.open", without_passwords(detail), without_passwords(fix))
    return [told, *(skip(name, "the store is not open") for name in CHECKS[1:])]
