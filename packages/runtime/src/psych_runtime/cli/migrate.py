"""`psych migrate`: brings the schema of a store up to this release, or says what is pending."""

from __future__ import annotations

import asyncio
from argparse import Namespace

from psych_runtime.cli.exits import Exit
from psych_runtime.cli.opening import first_contact, opened
from psych_runtime.cli.output import Output, Row
from psych_runtime_core.ports.reports import MigrationReport


def run(options: Namespace, output: Output) -> Exit:
    """Migrate once, and list what was applied and what is pending."""
    report = asyncio.run(_migrate(options))
    if output.json:
        levels = {"from": report.from_, "to": report.to}
        output.document("psych.migrate/1", {**levels, "applied": report.applied, "pending": report.pending})
    else:
        _tell(report, output)
    return Exit.FOUND if options.check and report.due(options.phase) else Exit.DONE


async def _migrate(options: Namespace) -> MigrationReport:
    looks = options.check or options.plan
    async with opened(options, write=not looks, make=True) as store:
        async with first_contact(options):
            planned = await store.migrate(options.phase, plan=True)
        # Who migrates may have to wait for another who does, for longer than an answer takes.
        return planned if looks else await store.migrate(options.phase)


def _tell(report: MigrationReport, output: Output) -> None:
    rows = [Row("applied", name) for name in report.applied]
    rows += [Row("pending", name) for name in report.pending]
    if report.to or rows:
        rows = rows or [Row("pending", "nothing is pending")]
        output.rows([Row("level", f"{report.from_} to {report.to}"), *rows], rest="")
    else:
        output.rows([Row("level", "none: this store has no migrations")], rest="")
    if report.pending and not report.due("pre"):
        output.hint("once no older release runs: psych migrate --phase post")
