"""A text that was read through all its layers, and where in it that was told which was read."""

from __future__ import annotations

from functools import cached_property

from psych_runtime.secrets.forms import Alike, Form, bones, compared, is_plain
from psych_runtime.secrets.layers import Layer, innermost, joined, layers_of, unescaped

LONGEST_SPELLING = 34
"""The most characters that one character of a secret takes: an entity of HTML. Other layers only add to
their own marks, so what lies in several is shorter, unless each character of it is spelled once more."""


class Reading:
    """What a text says after up to `most` layers were taken off it."""

    def __init__(self, text: str, most: int, *, wide: bool) -> None:
        self._text, self._most = text, most
        self._layers = layers_of(text, most)
        self._read = innermost(self._layers, text)
        bare = self._read.replace("\\", "")
        self._joined = joined(bare, most) if wide else []
        self._bare = innermost(self._joined, bare)
        self._bones: dict[Alike, str] = {}
        self._known: dict[tuple[str, str, Alike], bool] = {}

    def places(self, form: Form) -> list[tuple[int, int]]:
        """Where the secret of `form` was told, otherwise than it is."""
        if not form.core or (self._bare is self._text and not form.alike):
            return []
        read = self._bones_of(form)
        found: list[tuple[int, int]] = []
        at = read.find(form.core)
        while at >= 0:
            place = self._place(form, at, at + len(form.core))
            if place is not None:
                found.append(place)
            at = read.find(form.core, at + (1 if place is None else len(form.core)))
        return found

    def _bones_of(self, form: Form) -> str:
        if form.alike not in self._bones:
            self._bones[form.alike] = compared(self._bare, form.alike)
        return self._bones[form.alike]

    def _place(self, form: Form, core: int, after: int) -> tuple[int, int] | None:
        """The place in the text of the core that was read there, with its head and its tail."""
        start, end = self._told(core, after)
        begins = start if form.head is None else self._begins(form, form.head, core, start)
        if begins is None:
            return None
        ends = end if form.tail is None else self._ends(form, form.tail, after, end)
        # A spelling is never shorter than what it spells.
        return None if ends is None or ends - begins < len(form.raw) else (begins, ends)

    def _told(self, start: int, end: int) -> tuple[int, int]:
        for layer in (*reversed(self._joined), self._unescaped, *reversed(self._layers)):
            start, end = layer.place(start, end)
        return start, end

    @cached_property
    def _unescaped(self) -> Layer:
        return unescaped(self._read)

    def _begins(self, form: Form, head: str, core: int, end: int) -> int | None:
        """Where the head before a core begins, whatever a spelling that began before it took in of it."""
        first = core - len(head)
        if is_plain(head[:1]):
            start = self._told(max(first, 0), core)[0] if core else 0
        else:
            start = self._told(first - 1, first)[1] if first > 0 else 0
        places = range(max(start, end - LONGEST_SPELLING * form.reach), end + 1)
        return next((at for at in places if self._says(self._text[at:end], head, form)), None)

    def _ends(self, form: Form, tail: str, after: int, start: int) -> int | None:
        """Where the tail behind a core ends, whatever a spelling that ends beyond it took in of it."""
        last = after + len(tail)
        end = self._told(last, last + 1)[1] if last < len(self._bare) else len(self._text)
        places = range(min(end, start + LONGEST_SPELLING * form.reach), start - 1, -1)
        return next((at for at in places if self._says(self._text[start:at], tail, form)), None)

    def _says(self, told: str, wanted: str, form: Form) -> bool:
        key = told, wanted, form.alike
        if key not in self._known:
            read = innermost(layers_of(told, self._most), told)
            self._known[key] = bones(read, form.alike, self._most) == wanted
        return self._known[key]
