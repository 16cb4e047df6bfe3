"""Files that a tool gives back, alone or beside a value."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import cast

BYTES = "application/octet-stream"
MAX_NAME = 255

_MEDIA_TYPE = re.compile(r"[a-z]+/[a-z0-9][a-z0-9.+-]{0,100}")
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class File:
    """A picture, a document, any bytes: with a name and a media type such as `image/png`."""

    name: str
    media_type: str
    data: bytes = field(repr=False)

    def __post_init__(self) -> None:
        if not 1 <= len(self.name) <= MAX_NAME or _CONTROLS.search(self.name):
            raise ValueError(f"a file's name has 1 to {MAX_NAME} characters and no control characters")
        if not is_media_type(self.media_type):
            told = f"{self.media_type!r} is no media type"
            raise ValueError(f"{told}: write one in lower case and without parameters, as image/png")
        # A bytearray would change under whoever keeps it.
        object.__setattr__(self, "data", bytes(self.data))


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """A value with files; what a tool returns that has both, or several files."""

    value: object = None
    files: tuple[File, ...] = ()

    def __post_init__(self) -> None:
        files = tuple(self.files)
        wrong = [file for file in cast("tuple[object, ...]", files) if not isinstance(file, File)]
        if wrong:
            raise TypeError(f"files holds a {type(wrong[0]).__name__}: write File(name, media_type, data)")
        object.__setattr__(self, "files", files)


def is_media_type(text: str) -> bool:
    """Whether `text` is a media type without parameters, as records and messages hold it."""
    return _MEDIA_TYPE.fullmatch(text) is not None


def media_type_of(content_type: str) -> str:
    """What a `Content-Type` states, in lower case and without its parameters; it may be none."""
    return content_type.partition(";")[0].strip().lower()


def output_of(result: object) -> ToolOutput:
    """What a tool returned, with its files apart."""
    if isinstance(result, ToolOutput):
        return result
    if isinstance(result, File):
        return ToolOutput(files=(result,))
    if isinstance(result, bytes | bytearray):
        return ToolOutput(files=(File("output.bin", BYTES, bytes(result)),))
    return ToolOutput(result)
