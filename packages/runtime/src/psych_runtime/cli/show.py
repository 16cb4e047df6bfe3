"""`psych show RUN`: what a Run said, did, waited for, answered and used."""

from __future__ import annotations

import asyncio
from argparse import Namespace

import psych_runtime
from psych_runtime.cli.exits import Exit
from psych_runtime.cli.finding import header_in
from psych_runtime.cli.headers import descendants
from psych_runtime.cli.opening import command_of, opened
from psych_runtime.cli.output import Output
from psych_runtime.cli.telling import JsonTeller, Teller, TextTeller
from psych_runtime_core.records.facts import TerminalState
from psych_runtime_core.views.projection import RunProjection


def run(options: Namespace, output: Output) -> Exit:
    """Read a Run and print it."""
    return asyncio.run(_show(options, _teller(options, output)))


def _teller(options: Namespace, output: Output) -> Teller:
    if output.json:
        return JsonTeller(output, live=options.follow, records=options.records)
    hidden = "erased" if options.codec else "sealed"
    return TextTeller(output, command_of(options), hidden, records=options.records)


async def _show(options: Namespace, teller: Teller) -> Exit:
    async with opened(options) as store:
        view = RunProjection((await header_in(store, options, options.run)).run_id)
        found = await psych_runtime.records(store, view.run_id)
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
        below = descendants(store, view.run_id) if options.children else None
        teller.end(view, version, None if below is None else [child async for child in below])
    completed = view.state.terminal_state is TerminalState.COMPLETED
    return Exit.DONE if completed or not options.exit_status else Exit.FOUND
