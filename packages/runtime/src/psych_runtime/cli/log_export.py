"""`psych log export RUN`: the log of a Run as a file, or of a whole tree as one file each."""

from __future__ import annotations

import asyncio
import os
import sys
from argparse import Namespace
from collections.abc import AsyncGenerator, AsyncIterator
from pathlib import Path
from urllib.parse import quote

import psych_runtime
from psych_runtime.cli.codecs import codec_named
from psych_runtime.cli.documents import ExportedFile
from psych_runtime.cli.exits import CommandError, Exit
from psych_runtime.cli.finding import header_in
from psych_runtime.cli.headers import descendants
from psych_runtime.cli.listing import Told
from psych_runtime.cli.opening import opened
from psych_runtime.cli.output import Output, visible
from psych_runtime.cli.progress import Progress
from psych_runtime.cli.whole_files import whole_file
from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.blob import blobs_of
from psych_runtime_core.ports.runs import RunHeader
from psych_runtime_core.ports.store import Store
from psych_runtime_core.records import PlainCodec
from psych_runtime_core.scope import Scope
from psych_runtime_memory import InMemoryBlobStore

WITHOUT_BLOBS = "without its blobs, which this store does not keep"


def run(options: Namespace, output: Output) -> Exit:
    """Write the lines to stdout, or to files that are there when they are whole."""
    if options.output is None:
        if options.children:
            raise CommandError("--children writes one file a Run", "-o DIR")
        if output.json:
            raise CommandError("--json tells of files, and stdout is to be the log itself", "-o FILE")
        return asyncio.run(_to_stdout(options, output))
    return asyncio.run(_to_files(options, output))


async def _to_stdout(options: Namespace, output: Output) -> Exit:
    async with opened(options) as store:
        header = await header_in(store, options, options.run)
        with Progress(output, "lines") as progress:
            if await _lacks_blobs(store, header):
                output.hint(f"{header.run_id} comes {WITHOUT_BLOBS}")
            async for line in _lines(store, header, options):
                _print(line)
                progress.advance()
    return Exit.DONE


async def _to_files(options: Namespace, output: Output) -> Exit:
    told = Told(output, "psych.export/1", "files")
    async with opened(options) as store:
        header = await header_in(store, options, options.run)
        with Progress(output, "Runs") as progress:
            async for one in _wanted(store, header, children=options.children):
                path = _path(options.output, one.run_id, folder=options.children)
                with whole_file(path) as file:
                    async for line in _lines(store, one, options):
                        file.write(line)
                progress.clear()
                lacks = await _lacks_blobs(store, one)
                done = ExportedFile(one.run_id, str(path), file.size, file.action, lacks)
                said = (WITHOUT_BLOBS,) if lacks else ()
                told.add([done], [(done.action, done.path, one.run_id, *said)])
                progress.advance()
    told.end()
    return Exit.DONE


async def _wanted(store: Store, header: RunHeader, *, children: bool) -> AsyncIterator[RunHeader]:
    yield header
    if children:
        async for below in descendants(store, header.run_id):
            yield below


def _path(named: str, run_id: RunId, *, folder: bool) -> Path:
    """Where a Run goes: to the file that is named, or into the folder, which is made where it is to be."""
    path = Path(named)
    if not folder and not path.is_dir() and not named.endswith(os.sep):
        return path
    path.mkdir(parents=True, exist_ok=True)
    # An id may hold whatever leads out of a folder.
    return path / f"{quote(run_id, safe='')}.jsonl"


async def _lacks_blobs(store: Store, header: RunHeader) -> bool:
    """Whether the log names blobs that the Runtime keeps elsewhere, or that are gone."""
    blobs = blobs_of(store)
    if not header.blobs or header.erased or blobs is None:
        return header.blobs and not header.erased
    return not (await blobs.list(header.scope.tenant, header.run_id, limit=1)).items


def _lines(store: Store, header: RunHeader, options: Namespace) -> AsyncGenerator[bytes]:
    blobs = blobs_of(store)
    # An empty place where there is none: `export_run` takes what is not given for a slip.
    kept = InMemoryBlobStore() if blobs is None else blobs
    lines = psych_runtime.export_run(store, header.run_id, blobs=kept)
    if not options.redact:
        return lines
    codec = codec_named(options.codec) if options.codec else WantedCodec()
    return psych_runtime.redacted(lines, codec=codec)


class WantedCodec(PlainCodec):
    """Opens what was never sealed. What is sealed cannot be redacted: nobody knows its shape."""

    def open(self, sealed: bytes, *, scope: Scope, bound: bytes) -> bytes | None:
        if not sealed.startswith(b"{"):
            raise CommandError(
                "this log is sealed, and only an open one can be redacted", "--codec MODULE:NAME"
            )
        return super().open(sealed, scope=scope, bound=bound)


def _print(line: bytes) -> None:
    """A line, byte for byte; on a terminal, so that nothing in it acts."""
    if sys.stdout.isatty():
        print(visible(line.decode()), end="", flush=True)
    else:
        sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()
