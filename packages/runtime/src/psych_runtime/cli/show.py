"""`psych show RUN`: what a Run said, did, waited for, answered and used."""

from __future__ import annotations

import asyncio
from argparse import Namespace
from collections.abc import Sequence

import psych_runtime
from psych_runtime.cli.exits import CommandError, Exit
from psych_runtime.cli.opening import command_of, first_contact, opened
from psych_runtime.cli.output import Output
from psych_runtime.cli.telling import JsonTeller, Teller, TextTeller
from psych_runtime_core.errors import AccessDenied, RunNotFound
from psych_runtime_core.ids import RunId, checked_identifier
from psych_runtime_core.ports.store import Store
from psych_runtime_core.records import Record
from psych_runtime_core.records.facts import TerminalState
from psych_runtime_core.scope import Scope
from psych_runtime_core.views.projection import RunProjection


def run(options: Namespace, output: Output) -> Exit:
    """Read a Run and print it."""
    return asyncio.run(_show(options, _teller(options, output)))


def _teller(options: Namespace, output: Output) -> Teller:
    if output.json:
        return JsonTeller(output, live=options.follow, records=options.records)
    return TextTeller(output, command_of(options), records=options.records)


async def _show(options: Namespace, teller: Teller) -> Exit:
    async with opened(options) as store:
        view = RunProjection(RunId(options.run))
        found = await _records(store, options)
        for record in found:
            view.absorb(record)
        version = await store.get_version(view.state.version_hash)
        teller.begin(view, version)
        for record in found:
            teller.tell(view, record)
        if options.follow:
            async for record in psych_runtime.stream(store, options.run, after=view.state.head_seq):
                view.absorb(record)
                teller.tell(view, record)
        teller.end(view, version)
    completed = view.state.terminal_state is TerminalState.COMPLETED
    return Exit.DONE if completed or not options.exit_status else Exit.FOUND


async def _records(store: Store, options: Namespace) -> Sequence[Record]:
    """The log as it stands. A Run that is not there and one of another tenant are told by the same words."""
    try:
        async with first_contact(options):
            first = await psych_runtime.records(store, options.run, limit=1, scope=_scope(options))
        return (*first, *await psych_runtime.records(store, options.run, after=1))
    except (RunNotFound, AccessDenied):
        absent = f"there is no Run {options.run} here"
        fix = "psych show RUN, with the id that dispatch returned and the store it was given"
        raise CommandError(absent, fix, Exit.NOT_FOUND, "RunNotFound", run_id=options.run) from None


def _scope(options: Namespace) -> Scope | None:
    return None if options.tenant is None else Scope(tenant=checked_identifier(options.tenant))
