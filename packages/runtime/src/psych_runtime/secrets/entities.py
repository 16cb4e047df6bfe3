"""Entities of HTML as a page is read: the names of old need no semicolon, nor does a number."""

from __future__ import annotations

import re
from html.entities import html5

# The longest first: `&sup1` is no `&sup`. None takes the beginning of a newer name: `&notin;` is one.
_OLD = sorted((name for name in html5 if not name.endswith(";")), key=len, reverse=True)
_LONGEST = len(_OLD[0])
_LAST_CHARACTER = 0x10FFFF
_NUMBER = re.compile(r"#?[xX]?[0-9a-fA-F]{1,8};")


def _pattern() -> str:
    newer: dict[str, list[str]] = {name: [] for name in _OLD}
    for name in html5:
        for size in range(2, min(len(name) - 1, _LONGEST + 1)):
            if name[:size] in newer and name.endswith(";"):
                newer[name[:size]].append(name[size:])
    old = "|".join(
        f"{name}(?:;|(?!{'|'.join(more)}))" if more else f"{name};?" for name, more in newer.items()
    )
    return rf"&(?:\#[0-9]{{1,8}};?|\#[xX][0-9a-fA-F]{{1,8}};?|{old}|[a-zA-Z][a-zA-Z0-9]{{1,31}};)"


ENTITY = _pattern()
"""An entity, or what looks like one; in a pattern with `re.VERBOSE`, too."""

ENDS = "|".join(sorted({name[at:] for name in _OLD for at in range(len(name))}, key=len, reverse=True))
"""An old name, or what is left of one when its beginning is taken away."""


def read(entity: str) -> str:
    """The character that `entity` stands for, or itself where there is none."""
    name = entity[1:]
    if name[0] != "#":
        return html5.get(name, entity)
    digits = name[1:].rstrip(";")
    number = int(digits[1:], 16) if digits[0] in "xX" else int(digits)
    return chr(number) if number <= _LAST_CHARACTER else entity


def ends_entity(text: str) -> bool:
    """Whether an entity, of a name or a number, ends with `text`, its semicolon included."""
    return _NUMBER.fullmatch(text) is not None or any(name.endswith(text) for name in html5)
