"""Bytes that were kept, as the lines that a model reads."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from io import StringIO
from sys import getsizeof

from anyio.lowlevel import checkpoint

from psych_runtime.pace import AT_ONCE, beside
from psych_runtime_core.jsonvalue import Json, decode_json, freeze, json_text

# So many lines are worked on before others have their turn on the loop.
SLICE = 512
INDENT = "  "


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines that stand in one text without their indentation: where each ends, and how deep it stands.

    An object for each would take many times what most lines hold, and so would the blanks of a deep document.
    """

    text: str = ""
    ends: array[int] = field(default_factory=lambda: array("Q"))
    depths: bytearray = field(default_factory=bytearray)

    def __len__(self) -> int:
        return len(self.ends)

    def __getitem__(self, number: int) -> str:
        start = self.ends[number - 1] + 1 if number else 0
        return INDENT * self.depths[number] + self.text[start : self.ends[number]]

    def __iter__(self) -> Iterator[str]:
        return map(self.__getitem__, range(len(self)))

    @property
    def held_bytes(self) -> int:
        """What they take in memory."""
        return getsizeof(self.text) + getsizeof(self.ends) + getsizeof(self.depths)


def is_text(data: bytes) -> bool:
    """Whether bytes are text: UTF-8, and no NUL among it."""
    return _text_of(data) is not None


async def lines_of(data: bytes, content_type: str) -> Lines | None:
    """A text as it is, any other JSON indented with its keys sorted; None for bytes that are no text."""
    if content_type == "application/json" or content_type.endswith("+json"):
        read = partial(_value_of, data)
        try:
            value = read() if len(data) <= AT_ONCE else await beside(read)
        except ValueError:
            # A file may be called JSON and be none, or be nested too deep to be laid out.
            pass
        else:
            return await (_split(value) if isinstance(value, str) else _laid_out(value))
    text = _text_of(data)
    return None if text is None else await _split(text)


def _value_of(data: bytes) -> Json:
    return freeze(decode_json(data), surrogates=True)


def _text_of(data: bytes) -> str | None:
    try:
        return None if b"\0" in data else data.decode()
    except UnicodeDecodeError:
        return None


async def _split(text: str) -> Lines:
    lines, start = Lines(text), 0
    # What ends with a line break has no line behind it.
    while start < len(text):
        found = text.find("\n", start)
        await _add(lines, 0, len(text) if found < 0 else found)
        start = lines.ends[-1] + 1
    return lines


async def _laid_out(value: Json) -> Lines:
    lines, written = Lines(), StringIO()
    for depth, text in _walk(value, 0, "", ""):
        written.write(text)
        await _add(lines, depth, written.tell())
        written.write("\n")
    return replace(lines, text=written.getvalue())


async def _add(lines: Lines, depth: int, end: int) -> None:
    lines.depths.append(depth)
    lines.ends.append(end)
    if len(lines) % SLICE == 0:
        await checkpoint()


def _walk(value: Json, depth: int, lead: str, tail: str) -> Iterator[tuple[int, str]]:
    """The lines of a value that `lead` stands before and `tail` behind, each with its depth."""
    if not value or not isinstance(value, Mapping | list):
        yield depth, f"{lead}{json_text(value)}{tail}"
        return
    opening, closing = "{}" if isinstance(value, Mapping) else "[]"
    yield depth, f"{lead}{opening}"
    for number, (inner, part) in enumerate(_parts(value), 1):
        yield from _walk(part, depth + 1, inner, "," if number < len(value) else "")
    yield depth, f"{closing}{tail}"


def _parts(value: Mapping[str, Json] | list[Json]) -> Iterator[tuple[str, Json]]:
    if isinstance(value, Mapping):
        for key in sorted(value):
            yield f"{json_text(key)}: ", value[key]
    else:
        for part in value:
            yield "", part
