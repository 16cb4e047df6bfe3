"""`psych runs`: the Runs that match, newest first."""

from __future__ import annotations

import asyncio
from argparse import Namespace
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from shlex import join

import psych_runtime
from psych_runtime.cli.exits import Exit
from psych_runtime.cli.headers import STATES, cells, listed
from psych_runtime.cli.listing import Told
from psych_runtime.cli.opening import first_contact, opened
from psych_runtime.cli.output import Output, without_passwords
from psych_runtime.cli.progress import Progress
from psych_runtime.cli.query import query_of, words_of
from psych_runtime_core.ports.queries import Page, RunQuery, pages
from psych_runtime_core.ports.runs import RunHeader
from psych_runtime_core.ports.store import Store


def run(options: Namespace, output: Output) -> Exit:
    """Print a page, or all pages, as they come."""
    return asyncio.run(_list(options, output, query_of(options)))


async def _list(options: Namespace, output: Output, query: RunQuery) -> Exit:
    told = Told(output, "psych.runs/1", "runs", states=STATES)
    cursor: str | None = None
    async with opened(options) as store:
        with Progress(output, "Runs") as progress:
            async for page in _pages(store, options, query):
                progress.clear()
                now = datetime.now(UTC)
                told.add(map(listed, page.items), (cells(header, now) for header in page.items))
                cursor = page.cursor
                progress.advance(len(page.items))
    told.end(next=cursor)
    if cursor is not None and not output.json:
        print(f"\nnext  {cursor}", flush=True)
        output.hint(f"for the next page: {_next(options, query, cursor)}")
    return Exit.DONE


async def _pages(store: Store, options: Namespace, query: RunQuery) -> AsyncIterator[Page[RunHeader]]:
    async def ask(cursor: str | None) -> Page[RunHeader]:
        return await psych_runtime.runs(store, scope=None, query=query, limit=query.limit, cursor=cursor)

    async with first_contact(options):
        first = await ask(options.cursor)
    yield first
    if options.all and first.cursor is not None:
        async for page in pages(ask, first.cursor):
            yield page


def _next(options: Namespace, query: RunQuery, cursor: str) -> str:
    """The command that prints the next page. A variable is not repeated."""
    store = ["--store", options.store] if options.store else []
    return without_passwords(join(["psych", "runs", *words_of(query), *store, "--cursor", cursor]))
