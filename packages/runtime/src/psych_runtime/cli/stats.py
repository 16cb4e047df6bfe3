"""`psych stats`: how many Runs are open, how they stand, and whose work waits."""

from __future__ import annotations

import asyncio
from argparse import Namespace
from collections.abc import Iterator

from psych_runtime.cli.exits import CommandError, Exit
from psych_runtime.cli.opening import first_contact, opened
from psych_runtime.cli.output import Output, Row
from psych_runtime.cli.tables import Table
from psych_runtime_core.ports.reports import StoreStats
from psych_runtime_core.records.tree import instant


def run(options: Namespace, output: Output) -> Exit:
    """Ask once, and print."""
    if output.json and options.by is not None:
        raise CommandError("--by leaves out a table, and the document has both", "psych stats --json")
    return asyncio.run(_count(options, output))


async def _count(options: Namespace, output: Output) -> Exit:
    async with opened(options) as store, first_contact(options):
        stats = await store.stats(tenant=options.tenant)
    if output.json:
        output.document("psych.stats/1", stats)
        return Exit.DONE
    if options.by != "tenant":
        output.rows(_totals(stats), rest="", width=15)
    if options.by is None and stats.tenants:
        output.heading("tenants with ready work")
    if options.by != "state":
        _tell_tenants(stats, output)
    if options.by == "tenant" and not stats.tenants:
        output.hint("no ready work")
    return Exit.DONE


def _totals(stats: StoreStats) -> Iterator[Row]:
    yield Row("at", instant(stats.now))
    yield Row("ready", str(stats.ready))
    yield Row("running", str(stats.running))
    yield Row("suspended", str(stats.suspended))
    yield Row("expired leases", str(stats.expired_leases))
    yield Row("oldest ready", _seconds(stats.oldest_ready_seconds))
    if stats.capped:
        yield Row("capped", "a count stopped at its bound: there are more")


def _tell_tenants(stats: StoreStats, output: Output) -> None:
    rows = [("tenant", "ready", "running", "suspended", "oldest ready")] if stats.tenants else []
    for each in stats.tenants:
        counts = (str(each.ready), str(each.running), str(each.suspended))
        rows.append((each.tenant, *counts, _seconds(each.oldest_ready_seconds)))
    Table(output).add(rows)


def _seconds(seconds: float | None) -> str:
    return "none" if seconds is None else f"{seconds:.1f} s"
