"""What the command prints: results on stdout, everything else on stderr, and no text that acts."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from io import TextIOWrapper
from typing import NamedTuple, TextIO

from psych_runtime.cli.exits import Verdict

LONGEST_TEXT_BYTES = 8 * 1024

# All of C0 and C1 but the line feed, the two other line ends of Unicode, what turns text around, and
# halves of characters, which have no UTF-8.
_ACTING = re.compile(
    r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
_COLOURS = {
    "green": {"done", "completed", "ok", "approved", "current"},
    "yellow": {
        *("waiting", "stopping", "stopped", "aborted", "unknown", "refused", "expired"),
        *("warn", "outdated", "edited"),
    },
    "red": {"failed", "error", "denied", "abandoned", "force_settled", "fail", "bad"},
}
_PASSWORD = re.compile(r"(://[^\s/:@]*:)\S*(@)|([?&]\w*password\w*=)[^\s&'\"]*", re.IGNORECASE)
_CODES = {"green": "32", "yellow": "33", "red": "31"}
_CODE_OF_WORD = {word: _CODES[colour] for colour, words in _COLOURS.items() for word in words}


def visible(text: str) -> str:
    """`text` with each character that would act on a terminal written as an escape. Line feeds stay."""
    return _ACTING.sub(_escape, text)


def one_line(text: str) -> str:
    """`visible`, and its line feeds as escapes too."""
    return visible(text).replace("\n", "\\n")


def clipped(text: str, rest: str) -> str:
    """`text` up to `LONGEST_TEXT_BYTES` of UTF-8; of a longer one, how much is missing and `rest` to type."""
    data = text.encode("utf-8", "surrogatepass")
    if len(data) <= LONGEST_TEXT_BYTES:
        return text
    kept = data[:LONGEST_TEXT_BYTES].decode("utf-8", "ignore")
    return f"{kept}\n… {len(data) - LONGEST_TEXT_BYTES} bytes more: {rest}"


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    named = {9: "\\t", 13: "\\r"}.get(code)
    return named or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}")


def without_passwords(text: str) -> str:
    """`text` with `***` for each password that a URL in it holds."""
    return _PASSWORD.sub(r"\1\3***\2", text)


def coloured(environment: Mapping[str, str], *, forbidden: bool, terminal: bool) -> bool:
    """Whether state words are coloured. What forbids wins over what forces, and that over the terminal."""
    if forbidden or environment.get("NO_COLOR"):
        return False
    if environment.get("FORCE_COLOR"):
        return True
    return terminal and environment.get("TERM") != "dumb"


class Row(NamedTuple):
    """A name, and what stands beside it: a state word, a text, or both."""

    name: str
    text: str
    state: str = ""


@dataclass(frozen=True, slots=True)
class Output:
    """Where a verb says what it found."""

    json: bool = False
    colour: bool = False
    quiet: bool = False

    # --- results, on stdout ---

    def document(self, schema: str, body: object) -> None:
        """One JSON document, on a line of its own, in ASCII: so no text in it acts on a terminal."""
        from psych_runtime_core.views.json import as_json

        print(json_text({"schema": schema, **as_json(body)}), flush=True)

    def rows(self, rows: Iterable[Row], *, rest: str, width: int = 10, indent: str = "") -> None:
        """Names and what stands beside them, in columns `width` apart.

        A long text is cut, with `rest` as the command that prints it whole. The lines of a text keep to
        their column, so that none of them looks like one of ours.
        """
        column = "\n" + " " * (len(indent) + width + 2)
        for name, text, state in rows:
            shown = visible(clipped(text, rest)).replace("\n", column)
            told = f"{self.word(state)} {shown}" if state else shown
            print(f"{indent}{one_line(name):<{width}}  {told}".rstrip(), flush=True)

    def lines(self, lines: Iterable[str]) -> None:
        """Lines to be typed, so not one of them is cut."""
        for line in lines:
            print(f"  {one_line(line)}", flush=True)

    def heading(self, text: str) -> None:
        """The title of a part, behind an empty line."""
        print(f"\n{text}", flush=True)

    def word(self, text: str) -> str:
        """`text`, coloured if it is a state word and colours are on."""
        code = _CODE_OF_WORD.get(text) if self.colour else None
        return f"\x1b[{code}m{text}\x1b[0m" if code else text

    # --- everything else, on stderr ---

    def hint(self, text: str) -> None:
        """What may help next. Nothing for those who asked for quiet, or who parse."""
        if not self.quiet and not self.json:
            print(f"psych: {one_line(text)}", file=sys.stderr, flush=True)

    def error(self, verdict: Verdict) -> None:
        """What is wrong and what to type: two lines, or one JSON document."""
        if self.json:
            told = {
                "type": verdict.type,
                "message": verdict.message,
                "fix": verdict.fix,
                "fields": dict(verdict.fields),
            }
            lines = [json_text({"schema": "psych.error/1", "error": told})]
        else:
            lines = [f"psych: {one_line(verdict.message)}", f"try: {one_line(verdict.fix)}"]
        print(without_passwords("\n".join(lines)), file=sys.stderr, flush=True)


def json_text(value: object) -> str:
    """`value` as JSON on one line, of which no character acts."""
    # DEL is ASCII, and the one character that acts and that JSON leaves as it is.
    return json.dumps(value, ensure_ascii=True, allow_nan=False).replace("\x7f", "\\u007f")


def prepare_streams() -> None:
    """Let no stream fail on a character that its encoding lacks, and none be missing.

    A stdout that was closed before the command began is as one whose reader has gone. What is told on stderr
    goes nowhere where that is closed, and not to stdout, as `print` would have it.
    """
    sys.stdout = sys.stdout or _without_reader()
    sys.stderr = sys.stderr or os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def silence_stdout() -> None:
    """Give what is still buffered, and can no longer be written, to nobody."""
    if _has_descriptor(sys.stdout):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def _without_reader() -> TextIO:
    ours, its = os.pipe()
    os.close(ours)
    return os.fdopen(its, "w")


def _has_descriptor(stream: TextIO) -> bool:
    try:
        return stream.fileno() >= 0
    except OSError:
        return False
