"""A secret as it is looked for: what is left of it when all spelling is taken off."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self, TypeAlias

from psych_runtime.secrets.entities import ENDS, ends_entity
from psych_runtime.secrets.layers import Layer, innermost, joined, layers_of

# What no usual spelling changes: such a secret stands in a text as it is.
_UNCHANGED = re.compile(r"[0-9A-Za-z_.~-]*")

# A spelling that begins before a secret may take its first characters in, and one that begins in its last
# ones may end beyond it: whether they do depends on what happens to stand there.
_ENTITYS_END = re.compile(r"#?[0-9A-Za-z]{0,31};")
_HEAD = re.compile(
    rf"""
    [\udc00-\udfff] | (?:{ENDS})?
    (?:\#?[uUxX]?\{{?(?:[01][0-9a-fA-F]{{5,7}} | [0-9a-fA-F]{{1,6}})?\}}?)?
    (?:\\*[\x80-\xbf]){{0,8}}
    """,
    re.VERBOSE,
)
_TAIL = re.compile(
    r"""
    (?:[\xc2-\xf4](?:\\*[\x80-\xbf]){0,2} | [\ud800-\udbff])?
    (?: \\+(?:[ux]\{[0-9a-fA-F]{0,8} | u[0-9a-fA-F]{0,3} | x[0-9a-fA-F]? | U[0-9a-fA-F]{0,7} | [0-3][0-7]?)?
      | %[0-9a-fA-F]?
      | &(?:\#[xX]?[0-9a-fA-F]{0,8} | [a-zA-Z][a-zA-Z0-9]{0,30})?
    )*\Z
    """,
    re.VERBOSE,
)
_LEAST = 3
"""How much of a secret comes before its tail, where there is as much."""

# By a character of a secret, what is read as another: a form tells a blank as plus, and of an escape that is
# without its backslash the letter is left.
_READ_ALIKE = {
    " ": ("+", " "),
    **{each: (each, letter) for each, letter in zip("\n\t\r\b\f", "ntrbf", strict=True)},
}

Alike: TypeAlias = tuple[tuple[str, str], ...]
"""Pairs of characters, of which the first is read as the second."""

_Parts: TypeAlias = tuple[str | None, str, str | None]
"""Head, core and tail."""


@dataclass(frozen=True, slots=True)
class Form:
    """A secret, and what is `shown` in its place. It stands where its core does, between head and tail.

    These are None where nothing that stands around the secret can have been read together with it.
    """

    shown: str
    raw: str
    core: str
    head: str | None
    tail: str | None
    alike: Alike

    own: int
    """How many layers are taken off the secret itself."""

    @classmethod
    def all_of(cls, secret: str, shown: str) -> Iterator[Self]:
        """The forms of `secret`: it is there where one of them is."""
        layers = layers_of(secret, len(secret))
        read = innermost(layers, secret)
        for parts in ((None, read, None),) if _UNCHANGED.fullmatch(secret) else _parted(read):
            yield cls._of(secret, shown, layers, parts)

    @classmethod
    def _of(cls, secret: str, shown: str, layers: Sequence[Layer], parts: _Parts) -> Self:
        """One of them. Its core is empty when nothing but backslashes is left of it."""
        read, (head, core, tail) = innermost(layers, secret), parts
        alike = tuple(pair for own, pair in _READ_ALIKE.items() if own in read)
        return cls(
            shown=shown,
            raw=small(secret),
            core=bones(core, alike, len(secret)),
            head=None if head is None else bones(head, alike, len(secret)),
            tail=None if tail is None else bones(tail, alike, len(secret)),
            alike=alike,
            own=len(layers) + len(joined(read.replace("\\", ""), len(secret))),
        )

    @property
    def is_ascii(self) -> bool:
        """Whether it is read without a character beyond ASCII."""
        return all(part.isascii() for part in (self.head or "", self.core, self.tail or ""))

    @property
    def reach(self) -> int:
        """How many characters of the secret its head and its tail may have, backslashes included."""
        return max(len(self.raw) - len(self.core), 1)


def bones(read: str, alike: Alike, most: int) -> str:
    """What is compared of a text whose marks were read, however often it was escaped."""
    bare = read.replace("\\", "")
    return compared(innermost(joined(bare, most), bare), alike)


def compared(bare: str, alike: Alike) -> str:
    """A text that was read, in small letters, in which `alike` are the same."""
    for told, meant in alike:
        bare = bare.replace(told, meant)
    return small(bare)


def small(text: str) -> str:
    """`text` in small letters, as long as it was: of all letters two would make it longer, or change."""
    return text.lower() if text.isascii() else text.replace("İ", "i").replace("Σ", "σ").lower()


def _parted(read: str) -> Iterator[_Parts]:
    bare = [at for at, char in enumerate(read) if char != "\\"]
    if not bare:
        yield None, "", None
        return
    # Backslashes that stand before what is escaped may be those of its own escape.
    head = min(max(bare[0], _end_of_head(read)), bare[-1])
    yield _parted_at(head, read, bare)
    firm = [at for at in bare if at < head][-_LEAST:]
    if firm and _TAIL.match(read, head):
        # All of that core may be taken in from behind, so it is looked for by what stands before it, too.
        yield _parted_at(firm[0], read, bare)


def _parted_at(head: int, read: str, bare: Sequence[int]) -> _Parts:
    least = min(_LEAST, (len(bare) + 1) // 2)
    after = max(bare[least - 1], next(at for at in bare if at >= head)) + 1
    ends = _TAIL.search(read, after)
    core = read[head : ends.start()] if ends else read[head:]
    has_head = head or not is_plain(read[:1])
    return read[:head] if has_head else None, core, ends[0] or None if ends else None


def _end_of_head(read: str) -> int:
    entity = _ENTITYS_END.match(read)
    behind = entity.end() if entity and ends_entity(entity[0]) else 0
    head = _HEAD.match(read, behind)
    return head.end() if head else behind


def is_plain(char: str) -> bool:
    """Whether no spelling puts a backslash before it."""
    return char.isascii() and char.isalnum()
