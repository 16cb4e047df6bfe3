"""Puts names in the place of secrets, wherever they stand in what a call brought back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from psych_runtime.secrets.spellings import Spellings
from psych_runtime_core.jsonvalue import FrozenDict, FrozenList, Json, json_text

# A shorter text may stand in any result by chance.
SHORTEST_MASKED = 8


class Masks:
    """Replaces each secret by `[secret:<name>]`, however it is spelled; one within a longer one goes with it.

    A secret that was stored with blanks around it is sent without them, and hidden wherever it stands so.
    """

    def __init__(self, names: Mapping[str, str]) -> None:
        """`names` are the names of secrets by their values."""
        shown = {
            form: f"[secret:{name}]"
            for value, name in names.items()
            if len(form := _as_sent(value)) >= SHORTEST_MASKED
        }
        self._text = Spellings(shown)
        self._bytes = Spellings({_as_bytes(value): _as_bytes(mask) for value, mask in shown.items()})
        self.is_empty = not shown

    def text(self, text: str) -> str:
        """`text` without a secret in it."""
        return self._text.replaced(text)

    @property
    def reach(self) -> int:
        """How far beyond the end of a text a secret may lie that begins in it."""
        return self._text.reach

    def beginning(self, text: str, size: int) -> str:
        """The first characters of `text`, so many before they are masked."""
        return self._text.part(text, 0, min(size, len(text)))

    def ending(self, text: str, size: int) -> str:
        """The last ones, likewise."""
        return self._text.part(text, max(len(text) - size, 0), len(text))

    def data(self, data: bytes) -> bytes:
        """The bytes of a file, without a secret in UTF-8 among them."""
        if self.is_empty:
            return data
        try:
            return self.text(data.decode()).encode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            return self._bytes.replaced(data.decode("latin-1")).encode("latin-1")

    def json(self, value: Json) -> Json:
        """A frozen value, the keys and numbers in it included."""
        return value if self.is_empty else self._json(value)

    def _json(self, value: Json) -> Json:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            names = _apart({key: self.text(key) for key in value})
            return FrozenDict({names[key]: self._json(item) for key, item in value.items()})
        if isinstance(value, list | tuple):
            return FrozenList(map(self._json, value))
        if isinstance(value, int | float):
            shown = json_text(value)
            masked = self.text(shown)
            return value if masked == shown else masked
        return value


def _apart(shown: Mapping[str, str]) -> Mapping[str, str]:
    """`shown` by name of a member, those numbered that came to be alike: no member takes another's place."""
    if len(set(shown.values())) == len(shown):
        return shown
    taken = {name for name, seen in shown.items() if seen == name}
    apart, last = dict[str, str](), Counter[str]()
    for name, seen in shown.items():
        given = seen
        while name != seen and given in taken:
            last[seen] += 1
            given = f"{seen} ({last[seen] + 1})"
        taken.add(given)
        apart[name] = given
    return apart


def _as_sent(value: str) -> str:
    """`value` without the blanks around it, unless that leaves too little to look for."""
    bare = value.strip()
    return bare if len(bare) >= SHORTEST_MASKED else value


def _as_bytes(text: str) -> str:
    """The bytes of `text` in UTF-8, each as the character of its number."""
    return text.encode("utf-8", "surrogatepass").decode("latin-1")


NO_MASKS = Masks({})
