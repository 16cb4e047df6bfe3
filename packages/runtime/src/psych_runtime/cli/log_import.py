"""`psych log import FILE…`: stores the Runs that were exported, each whole or not at all."""

from __future__ import annotations

import asyncio
from argparse import Namespace
from pathlib import Path

import psych_runtime
from psych_runtime.cli.documents import ImportedFile
from psych_runtime.cli.exits import CommandError, Exit
from psych_runtime.cli.listing import Told
from psych_runtime.cli.opening import first_contact, opened
from psych_runtime.cli.output import Output
from psych_runtime.cli.progress import Progress
from psych_runtime.cli.reading_files import lines_of
from psych_runtime.cli.rehearsal import Noticing, Rehearsal
from psych_runtime_core.errors import CorruptLog, LogConflict, PsychError
from psych_runtime_core.ports.blob import BlobStore, blobs_of
from psych_runtime_core.ports.store import Store
from psych_runtime_memory import InMemoryBlobStore


def run(options: Namespace, output: Output) -> Exit:
    """Import file after file. What was done before one is refused stays, and is told."""
    return asyncio.run(_import(options, output))


async def _import(options: Namespace, output: Output) -> Exit:
    told = Told(output, "psych.import/1", "files")
    files = [Path(name) for name in options.files]
    async with opened(options, write=not options.dry_run) as store:
        async with first_contact(options):
            await store.check()
        with Progress(output, "files", len(files)) as progress:
            try:
                for path in files:
                    done = await _imported(store, path, dry_run=options.dry_run)
                    progress.clear()
                    told.add([done], [(done.action, done.path, done.run_id)])
                    progress.advance()
            finally:
                told.end()
    return Exit.DONE


async def _imported(store: Store, path: Path, *, dry_run: bool) -> ImportedFile:
    noticing = Rehearsal(store) if dry_run else Noticing(store)
    blobs: BlobStore | None = blobs_of(store)
    if dry_run and blobs is not None:
        blobs = InMemoryBlobStore()
    try:
        run_id = await psych_runtime.import_run(noticing, lines_of(path), blobs=blobs)
    except CorruptLog as error:
        cure = "a copy of that file as it was exported"
        if isinstance(error, LogConflict):
            cure = "psych log import with --store of another store"
        raise _refused(path, error, cure) from error
    except ValueError as error:
        if isinstance(error, PsychError):
            raise
        # Of a sound file this is the one thing that a store may lack.
        fix = "psych log import --debug, which shows where it failed"
        raise _refused(
            path, error, "--store with a store that keeps blobs" if blobs is None else fix
        ) from error
    if run_id not in noticing.admitted:
        return ImportedFile(str(path), run_id, "already there")
    return ImportedFile(str(path), run_id, "would be imported" if dry_run else "imported")


def _refused(path: Path, error: Exception, fix: str) -> CommandError:
    return CommandError(f"{path}: {error}", fix, Exit.FAILED, type(error).__name__, path=str(path))
