"""Puts names in the place of secrets, wherever they stand in what a call brought back."""

from __future__ import annotations

import re
from collections.abc import Mapping

from psych_runtime_core.jsonvalue import FrozenDict, FrozenList, Json, json_text

# A shorter text may stand in any result by chance.
SHORTEST_MASKED = 8


class Masks:
    """Replaces each secret by `[secret:<name>]`; a secret within a longer one goes with it."""

    def __init__(self, names: Mapping[str, str]) -> None:
        """`names` are the names of secrets by their values."""
        self._names = {value: name for value, name in names.items() if len(value) >= SHORTEST_MASKED}
        longest_first = sorted(self._names, key=lambda value: (-len(value), value))
        self._any = re.compile("|".join(map(re.escape, longest_first)))

    def text(self, text: str) -> str:
        """`text` without a secret in it."""
        return self._any.sub(lambda found: self._mask(found[0]), text) if self._names else text

    def data(self, data: bytes) -> bytes:
        """The bytes of a file, without a secret in UTF-8 among them."""
        for value in sorted(self._names, key=len, reverse=True):
            data = data.replace(value.encode("utf-8", "surrogatepass"), self._mask(value).encode())
        return data

    def json(self, value: Json) -> Json:
        """A frozen value, the keys and numbers in it included."""
        return self._json(value) if self._names else value

    def _json(self, value: Json) -> Json:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return FrozenDict({self.text(key): self._json(item) for key, item in value.items()})
        if isinstance(value, list | tuple):
            return FrozenList(map(self._json, value))
        if isinstance(value, int | float):
            shown = json_text(value)
            masked = self.text(shown)
            return value if masked == shown else masked
        return value

    def _mask(self, value: str) -> str:
        return f"[secret:{self._names[value]}]"


NO_MASKS = Masks({})
