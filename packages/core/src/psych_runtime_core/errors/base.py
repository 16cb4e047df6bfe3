"""What every error is, and how a place in a document is written."""

from __future__ import annotations


class PsychError(Exception):
    """The root of every error that Psych raises on purpose."""


Loc = tuple[str | int, ...]


def pointer(loc: Loc) -> str:
    """`loc`, keys and indices from the root, as an RFC 6901 pointer; `""` is the whole document."""
    return "".join("/" + str(token).replace("~", "~0").replace("/", "~1") for token in loc)
