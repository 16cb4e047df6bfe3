"""A tool's result as JSON, encoded once, and its files; or why it has no such form."""

from __future__ import annotations

from dataclasses import dataclass

from psych_runtime.secrets.masks import NO_MASKS, Masks
from psych_runtime.tools.output import BYTES, MAX_NAME, File, output_of
from psych_runtime.tools.plain import Plain, raising
from psych_runtime.tools.problem import Problem
from psych_runtime_core.engine import wording
from psych_runtime_core.errors import NotJson
from psych_runtime_core.jsonvalue import Json, encode_json, freeze
from psych_runtime_core.records.base import cut
from psych_runtime_core.records.facts import FailureKind
from psych_runtime_core.records.tool import MAX_ATTACHMENTS

MAX_ENCODED_BYTES = 64 * 1024 * 1024
"""Of the value of a result as JSON, whether a record could hold it or not."""


@dataclass(frozen=True, slots=True)
class Converted:
    """A result as frozen JSON, its canonical bytes, and its files."""

    value: Json
    encoded: bytes
    files: tuple[File, ...] = ()

    @property
    def size(self) -> int:
        """Its bytes, those of its files included."""
        return len(self.encoded) + sum(len(file.data) for file in self.files)

    def masked(self, masks: Masks) -> Converted:
        """The same without a secret in it, which takes its time with a large one."""
        if masks.is_empty:
            return self
        value = masks.json(self.value)
        files = tuple(_masked(file, masks) for file in self.files)
        return Converted(value, encode_json(value), files)


@dataclass(frozen=True, slots=True)
class Taken:
    """What a tool returned, copied from it: nobody changes it while it is converted, in any thread."""

    plain: Plain
    files: tuple[File, ...]

    @property
    def size(self) -> int:
        """About how many characters its value takes as JSON."""
        return self.plain.size

    def converted(self) -> Converted | Problem:
        """It as JSON and files, which takes its time with a large one."""
        try:
            return encoded(freeze(self.plain.value, surrogates=True), self.files)
        except NotJson as refused:
            return _no_form(refused)


def convert(result: object, masks: Masks = NO_MASKS) -> Converted | Problem:
    """`result` as JSON and files, no secret in them.

    `result_not_serialisable` for what has no such form; `result_too_large` over 64 MiB, or 512 files.
    """
    taken = take(result)
    converted = taken.converted() if isinstance(taken, Taken) else taken
    if isinstance(converted, Problem):
        return Problem(converted.kind, masks.text(converted.message))
    return converted.masked(masks)


def take(result: object) -> Taken | Converted | Problem:
    """A copy of `result`, still to be converted; one that is converted, or has a problem, as it is."""
    if isinstance(result, Converted | Problem):
        return result
    try:
        output = output_of(result)
        return Taken(Plain(output.value), tuple(output.files))
    except NotJson as refused:
        return _no_form(refused)
    except BaseException as error:
        # A lazy stand-in for nothing raises even when it is asked of what type it is.
        return _refused(f"result: {raising(result, error)}")


def encoded(value: Json, files: tuple[File, ...] = ()) -> Converted | Problem:
    """A value that is frozen JSON, and files, as a result; or why they are too large for one."""
    document = encode_json(value)
    if len(document) > MAX_ENCODED_BYTES:
        return Problem(FailureKind.RESULT_TOO_LARGE, wording.result_too_large(MAX_ENCODED_BYTES))
    if len(files) > MAX_ATTACHMENTS:
        return Problem(FailureKind.RESULT_TOO_LARGE, wording.too_many_files(MAX_ATTACHMENTS))
    return Converted(value, document, files)


def _masked(file: File, masks: Masks) -> File:
    told = file.media_type
    # A server names the type of its reply, and one with a secret in it is no type of anything.
    media_type = told if masks.text(told) == told else BYTES
    return File(cut(masks.text(file.name), MAX_NAME), media_type, masks.data(file.data))


def _no_form(refused: NotJson) -> Problem:
    place = "".join(f"[{token!r}]" for token in refused.loc)
    return _refused(f"result{place}: {refused.reason}")


def _refused(reason: str) -> Problem:
    return Problem(FailureKind.RESULT_NOT_SERIALISABLE, wording.result_not_serialisable(reason))
