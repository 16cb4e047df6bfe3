"""Finds secrets in a text in every spelling that a wire may give them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from psych_runtime.secrets.layers import Layer

LONGEST_SPELLING = 34
"""The most characters that one character of a secret takes: an entity of HTML. Other layers only add to
their own marks, so what lies in several is shorter, unless each character of it is spelled once more."""

# A text may lie in JSON that lies in JSON, and in a URL or a page as well.
_LAYERS = 3


class _Span(NamedTuple):
    start: int
    end: int
    shown: str


class _Form(NamedTuple):
    """A secret, or what it says itself when it is read as a spelling; `least` is how long it is told."""

    small: str
    least: int
    shown: str


class Spellings:
    """Secrets, and what is shown in the place of each.

    A secret is found as it is and in any case, in the escapes of JSON and of bytes, percent-encoded, and in
    the entities of HTML, of which each of its characters may have another. Nothing made of a secret is kept
    beyond it: a pattern would be, by `re`.
    """

    def __init__(self, shown: Mapping[str, str]) -> None:
        """`shown` by secret; an empty one is none."""
        forms = {secret: _forms(secret) for secret in shown if secret}
        self._forms = [
            _Form(small, len(secret), shown[secret])
            for secret, own in forms.items()
            for small in dict.fromkeys(map(_small, own))
        ]
        self._shortest = min(map(len, forms), default=0)
        # Where a secret has marks of its own, those of them that were not spelled are read too.
        self._layers = _LAYERS + max(map(len, forms.values()), default=1) - 1

    def replaced(self, text: str) -> str:
        """`text` without a secret; where two overlap, the longer one counts for both."""
        if not self._forms or len(text) < self._shortest:
            return text
        pieces: list[str] = []
        at = 0
        for span in _merged(self._found(text)):
            pieces += (text[at : span.start], span.shown)
            at = span.end
        return "".join((*pieces, text[at:])) if pieces else text

    def _found(self, text: str) -> list[_Span]:
        """Each place of a secret in `text`, as it stands and behind each layer of spelling."""
        found = self._places(text, [])
        layers = [Layer(text)]
        while not layers[-1].is_bare:
            found += self._places(layers[-1].meant, layers)
            if len(layers) == self._layers:
                break
            layers.append(Layer(layers[-1].meant))
        return found

    def _places(self, text: str, layers: list[Layer]) -> list[_Span]:
        """The places of secrets in `text`, as places in that which lies under `layers`."""
        found: list[_Span] = []
        small = _small(text)
        for form in self._forms:
            places = _occurrences(form.small, small)
            for layer in reversed(layers if places else ()):
                places = layer.told(places)
            # A spelling is never shorter than what it spells.
            found += [_Span(start, end, form.shown) for start, end in places if end - start >= form.least]
        return found


def _forms(secret: str) -> list[str]:
    """A secret, and what is read in the place of it when all around it is read once more."""
    forms = [secret]
    while len(forms) <= _LAYERS and not (layer := Layer(forms[-1])).is_bare:
        forms.append(layer.meant)
    return [form for form in forms if form]


def _occurrences(small: str, text: str) -> list[tuple[int, int]]:
    places: list[tuple[int, int]] = []
    at = text.find(small)
    while at >= 0:
        places.append((at, at + len(small)))
        at = text.find(small, at + len(small))
    return places


def _small(text: str) -> str:
    """`text` in small letters, as long as it was: of all letters two would make it longer, or change."""
    return text.lower() if text.isascii() else text.replace("İ", "i").replace("Σ", "σ").lower()


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
