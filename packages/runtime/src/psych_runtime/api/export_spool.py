"""An export file, kept aside until it is known to be whole."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress

from anyio import SpooledTemporaryFile

from psych_runtime.api.export_file import MAX_LINE_BYTES, Item, Start, Tally, begins_entry, item_of
from psych_runtime_core.errors import CorruptionReason, CorruptLog
from psych_runtime_core.records import Entry

Lines = AsyncIterable[bytes] | Iterable[bytes]
# So much is kept in memory, the rest of a longer file on disk.
SPOOL_BYTES = 16 * 1024 * 1024


class KeptFile:
    """A whole export file, which may be read as often as one likes."""

    def __init__(self, file: SpooledTemporaryFile[bytes]) -> None:
        self._file = file

    async def items(self) -> AsyncIterator[Item]:
        """What stands in its lines. Raises `CorruptLog`, `RecordTooNew` and `SpecValidationError`."""
        await self._file.seek(0)
        entries = 0
        while line := await self._file.readline():
            try:
                item = item_of(line)
            except ValueError as error:
                raise broken(entries, str(error)) from error
            yield item
            entries += isinstance(item, Entry)


@asynccontextmanager
async def kept(lines: Lines) -> AsyncGenerator[KeptFile]:
    """The file that `lines` are, each with its end or without.

    Raises `CorruptLog` unless it is whole and as it was written, `RecordTooNew` for one of a newer form, and
    `TypeError` for what gives no lines of bytes, as a path, a text or a file in text mode.
    """
    async with SpooledTemporaryFile[bytes](max_size=SPOOL_BYTES) as file:
        tally, last = Tally(), b""
        async for line in _each(lines):
            if len(line) > MAX_LINE_BYTES:
                detail = f"a line has {len(line)} bytes, at most {MAX_LINE_BYTES} are written"
                raise broken(_entries(tally, last), detail)
            if last:
                await file.write(tally.add(last))
            else:
                _require_start(line)
            last = line
        if last != tally.end_line:
            detail = "the file does not end as it was written: it is cut, or was edited"
            raise broken(_entries(tally, last), detail)
        yield KeptFile(file)


def broken(entries: int, detail: str) -> CorruptLog:
    """What is wrong with a file behind so many entries: at the one that would be the next."""
    return CorruptLog(CorruptionReason.WRONG_LOG, "an export file", entries + 1, detail)


def _entries(tally: Tally, last: bytes) -> int:
    """How many whole entries stand in the lines so far, of which the tally has all but the last."""
    if begins_entry(last):
        with suppress(ValueError):
            item_of(last)
            return tally.entries + 1
    return tally.entries


def _require_start(line: bytes) -> None:
    try:
        start = item_of(line)
    except ValueError as error:
        raise broken(0, f"it is no export file: {error}") from error
    if not isinstance(start, Start):
        raise broken(0, "it is no export file: its first line is another")


async def _each(lines: Lines) -> AsyncIterator[bytes]:
    """Each line, with its end."""
    async for line in _as_they_come(lines):
        yield line if line.endswith(b"\n") else line + b"\n"


async def _as_they_come(lines: Lines) -> AsyncIterator[bytes]:
    _refuse_what_has_no_lines(lines)
    if isinstance(lines, AsyncIterable):
        async for line in lines:
            yield _bytes(line)
    else:
        for line in lines:
            yield _bytes(line)


def _refuse_what_has_no_lines(given: object) -> None:
    """A text and bytes can be gone through, too, but not by lines."""
    if isinstance(given, str | bytes | bytearray) or not isinstance(given, AsyncIterable | Iterable):
        raise _no_lines(given)


def _bytes(line: object) -> bytes:
    if not isinstance(line, bytes):
        raise _no_lines(line)
    return line


def _no_lines(given: object) -> TypeError:
    kind = type(given).__name__
    return TypeError(f"give lines of bytes, such as open(path, 'rb') has, not {kind}")
