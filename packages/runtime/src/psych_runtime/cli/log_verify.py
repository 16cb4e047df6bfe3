"""`psych log verify RUN…|FILE…`: which logs are sound, and where the others break."""

from __future__ import annotations

import asyncio
import os
from argparse import Namespace
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from psych_runtime.cli.codecs import codec_named
from psych_runtime.cli.documents import BadLog
from psych_runtime.cli.exits import CommandError, Exit
from psych_runtime.cli.finding import header_in
from psych_runtime.cli.headers import each
from psych_runtime.cli.judging import judged, judged_file
from psych_runtime.cli.listing import Told
from psych_runtime.cli.opening import first_contact, opened
from psych_runtime.cli.output import Output
from psych_runtime.cli.progress import Progress
from psych_runtime_core.ports.queries import RunQuery
from psych_runtime_core.ports.store import Store


def run(options: Namespace, output: Output) -> Exit:
    """Judge what is named, or every Run."""
    if options.all == bool(options.logs):
        raise CommandError("name Runs or files, or else --all", "psych log verify --help")
    if options.since is not None and not options.all:
        raise CommandError("--since narrows --all", "psych log verify --help")
    return asyncio.run(_verify(options, output))


async def _verify(options: Namespace, output: Output) -> Exit:
    told, logs, bad_ones = Told(output, "psych.verify/1", "bad", states=0), 0, 0
    with Progress(output, "logs", len(options.logs) or None) as progress:
        async for name, bad in _judged(options):
            progress.clear()
            told.add([] if bad is None else [bad], [_row(name, bad)])
            progress.advance()
            logs, bad_ones = logs + 1, bad_ones + (bad is not None)
    told.end(runs=logs, ok=not bad_ones)
    return Exit.FOUND if bad_ones else Exit.DONE


def _row(name: str, bad: BadLog | None) -> Sequence[str]:
    if bad is None:
        return "ok", name
    return "bad", name, f"seq {bad.seq}", f"{bad.reason}: {bad.detail}"


async def _judged(options: Namespace) -> AsyncIterator[tuple[str, BadLog | None]]:
    """Each log that is meant. Raises `CommandError`, before any is judged, for a file that is not there."""
    for name in options.logs:
        if _names_a_file(name) and not _is_file(name):
            raise CommandError(
                f"there is no file {name}",
                "psych runs, which lists Runs, or a file that was exported",
                Exit.NOT_FOUND,
                "FileNotFoundError",
                path=name,
            )
    if options.all or not all(map(_is_file, options.logs)):
        async with opened(options) as store:
            async for judgement in _stored(store, options):
                yield judgement
    else:
        codec = codec_named(options.codec)
        for name in options.logs:
            yield name, await judged_file(Path(name), codec)


async def _stored(store: Store, options: Namespace) -> AsyncIterator[tuple[str, BadLog | None]]:
    """Every Run that is meant by `--all`, or what is named: files among Runs, too."""
    async with first_contact(options):
        await store.check()
    if options.all:
        async for header in each(store, RunQuery(tenant=options.tenant, created_after=options.since)):
            yield header.run_id, await judged(store, header)
    for name in options.logs:
        if _is_file(name):
            yield name, await judged_file(Path(name), store.codec)
        else:
            yield name, await judged(store, await header_in(store, options, name))


def _names_a_file(name: str) -> bool:
    """Whether a word can only mean a file: no id of ours looks like that."""
    return name.endswith(".jsonl") or os.sep in name


def _is_file(name: str) -> bool:
    return Path(name).is_file()
