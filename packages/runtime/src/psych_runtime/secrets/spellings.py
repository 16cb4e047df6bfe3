"""Finds secrets in a text in every spelling that a wire may give them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from psych_runtime.secrets.forms import Form, small
from psych_runtime.secrets.reading import LONGEST_SPELLING, Reading

# A text may lie in JSON that lies in JSON, and in a URL or a page as well.
_LAYERS = 4

# No more is read at once: a thread that reads lets no other run within one step of it.
_BLOCK = 256 * 1024


class _Span(NamedTuple):
    start: int
    end: int
    shown: str


class Spellings:
    """Secrets, and what is shown in the place of each.

    A secret is found as it is and in any case, in the escapes of JSON and of bytes, percent-encoded, as a
    form is sent, with quotes doubled, and in the entities of HTML, of which each of its characters may have
    another. Nothing made of a secret is kept beyond it: a pattern would be, by `re`.
    """

    def __init__(self, shown: Mapping[str, str]) -> None:
        """`shown` by secret; an empty one is none."""
        self._forms = [each for secret in shown if secret for each in Form.all_of(secret, shown[secret])]
        self._shortest = min((len(form.raw) for form in self._forms), default=0)
        # Where a secret has spellings of its own, these are read too.
        self._layers = _LAYERS + max((form.own for form in self._forms), default=0)
        self._wide = not all(form.is_ascii for form in self._forms)

    @property
    def reach(self) -> int:
        """The most characters that a secret takes, however it is spelled."""
        return LONGEST_SPELLING * max((len(form.raw) for form in self._forms), default=0)

    def replaced(self, text: str) -> str:
        """`text` without a secret; where two overlap, the longer one counts for both."""
        return self._shown(text, 0, len(text))

    def part(self, text: str, start: int, end: int) -> str:
        """The same of a part of `text`, no more of which is read than it takes: a secret that lies there in
        part gives way as a whole.
        """
        before = max(start - self.reach, 0)
        return self._shown(text[before : end + self.reach], start - before, end - before)

    def _shown(self, text: str, start: int, end: int) -> str:
        pieces: list[str] = []
        for span in _merged(self._found(text)):
            if span.end > start and span.start < end:
                pieces += (text[start : span.start], span.shown)
                start = span.end
        return "".join((*pieces, text[start:end]))

    def _found(self, text: str) -> list[_Span]:
        """Each place of a secret in `text`, which may come twice where two blocks meet."""
        found: list[_Span] = []
        for start in range(0, len(text), _BLOCK):
            before = max(start - self.reach, 0)
            block = text[before : start + _BLOCK + self.reach]
            found += (_Span(before + at, before + end, shown) for at, end, shown in self._found_in(block))
        return found

    def _found_in(self, block: str) -> list[_Span]:
        """The places where a secret stands as it is, and where it is read."""
        if not self._forms or len(block) < self._shortest:
            return []
        raw, reading = small(block), Reading(block, self._layers, wide=self._wide)
        return [
            _Span(*place, form.shown)
            for form in self._forms
            for place in (*_occurrences(form.raw, raw), *reading.places(form))
        ]


def _occurrences(wanted: str, text: str) -> list[tuple[int, int]]:
    places: list[tuple[int, int]] = []
    at = text.find(wanted)
    while at >= 0:
        places.append((at, at + len(wanted)))
        at = text.find(wanted, at + len(wanted))
    return places


def _merged(spans: list[_Span]) -> list[_Span]:
    """The same in their order, those that overlap as one."""
    merged: list[_Span] = []
    longest = 0
    for start, end, shown in sorted(spans):
        last = merged[-1] if merged else None
        if last is None or start >= last.end:
            merged.append(_Span(start, end, shown))
            longest = end - start
            continue
        merged[-1] = _Span(last.start, max(last.end, end), shown if end - start > longest else last.shown)
        longest = max(longest, end - start)
    return merged
