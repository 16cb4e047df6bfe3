"""How large a measure is taken, how often, and where its files lie."""

from __future__ import annotations

import gc
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from pathlib import Path

Side = Callable[[], float]
_NUMBERS = count(1)


@dataclass(frozen=True, slots=True)
class Setting:
    """`share` 1 is the full size. `folder` lies on a real disk: in memory, a commit would cost nothing."""

    folder: Path
    rounds: int = 7
    share: float = 1.0

    def size(self, full: int, least: int = 1) -> int:
        """So many of a thing of which there are `full` at the full size."""
        return max(least, round(full * self.share))

    def new_file(self) -> Path:
        """The path of a database that is not there yet."""
        return self.folder / f"{next(_NUMBERS)}.db"

    def alternate(self, ours: Side, against: Side) -> tuple[list[float], list[float]]:
        """What each side costs in each round. Who comes first changes, so that a drift favours nobody."""
        for side in (ours, against):
            side()
        costs: tuple[list[float], list[float]] = [], []
        for number in range(self.rounds):
            sides = [(ours, costs[0]), (against, costs[1])]
            for side, kept in sides if number % 2 else reversed(sides):
                gc.collect()
                kept.append(side())
        return costs
