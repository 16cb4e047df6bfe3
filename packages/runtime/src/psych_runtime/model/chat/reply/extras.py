"""The keys of a tool call that this wire does not name, put together to go back in their place."""

from __future__ import annotations

from collections.abc import Mapping

from psych_runtime.model.chat.reply.gathered import Gathered
from psych_runtime.model.shapes import members
from psych_runtime_core.jsonvalue import FrozenDict, Json


class Extras:
    """Under `call` and `function` the keys of both; the later value of a key counts."""

    __slots__ = ("_places",)

    def __init__(self) -> None:
        self._places: dict[str, Gathered] = {}

    @property
    def size(self) -> int:
        """Their bytes as JSON."""
        return sum(place.size for place in self._places.values())

    def add(self, more: Mapping[str, Json]) -> bool:
        """Take what a fragment has of them. Returns whether it says anything new."""
        news = False
        for where, keys in more.items():
            place = self._places.setdefault(where, Gathered())
            for key, value in members(keys).items():
                news = place.put(key, value) or news
        return news

    def whole(self) -> FrozenDict:
        """All of them."""
        return FrozenDict({where: place.frozen() for where, place in self._places.items()})
