"""A provider's words, made fit to be shown and kept: no markup, no control characters, no secret of ours."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence

from psych_runtime.secrets.spellings import Spellings
from psych_runtime_core.jsonvalue import without_surrogates
from psych_runtime_core.records.base import cut

MAX_ERROR_SIZE = 65_536
"""Bytes of a body, characters of a text: an error may come with megabytes, and nobody reads more of it."""
MAX_WORDS = 8_192
MAX_EXCERPT = 200

# Each reaches to its own end or to that of the text, so no text takes longer than its length.
_UNSEEN = re.compile(r"<!--.*?(?:-->|\Z)|<(script|style)\b.*?(?:</\1\s*>|\Z)", re.DOTALL | re.IGNORECASE)
_TAG = re.compile(r"<(?:[!/?]?[a-zA-Z]|!--)[^<>]*>")
_TERMINAL = re.compile(r"\x1b\[[0-9;?]*[@-~]")
# C0, C1, and the marks that turn the direction of what follows; blanks stay until they are joined.
_CONTROL = re.compile(
    r"[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]",
)


def cleaned(text: str, secrets: Sequence[str] = (), limit: int = MAX_WORDS) -> str:
    """`text` on one line, in at most `limit` characters, with `***` for each of `secrets`."""
    shown = beginning(without_surrogates(text[: size_to_read(secrets)]).encode(), secrets)
    shown = _TAG.sub(" ", _CONTROL.sub("", _TERMINAL.sub("", shown)))
    # What stood between two halves of a secret may be gone by now.
    return cut(masked(" ".join(shown.split()), secrets), limit)


def excerpt(text: str, secrets: Sequence[str] = ()) -> str:
    """The beginning of something that is not words, cleaned alike."""
    return cleaned(text, secrets, MAX_EXCERPT)


def size_to_read(secrets: Sequence[str]) -> int:
    """Bytes of an error, so many that no secret begins in what is shown of it and ends beyond them."""
    return MAX_ERROR_SIZE + Spellings(dict.fromkeys(secrets, "***")).reach


def beginning(body: bytes, secrets: Sequence[str]) -> str:
    """The masked beginning of `body`, without what may be a piece of a secret where it was cut."""
    window = body[: size_to_read(secrets)]
    shown = masked(window.decode("utf-8", "replace"), secrets)
    beyond = len(window) - MAX_ERROR_SIZE
    return shown if beyond <= 0 else shown.encode()[:-beyond].decode("utf-8", "ignore")


def masked(text: str, secrets: Sequence[str]) -> str:
    """`text` with `***` for each of `secrets`, however it is spelled."""
    return Spellings(dict.fromkeys(secrets, "***")).replaced(text)


def text_of_html(page: str) -> str:
    """What a page says to a reader; what it says of tags is still to be cleaned."""
    return html.unescape(_TAG.sub(" ", _UNSEEN.sub(" ", page[:MAX_ERROR_SIZE])))
