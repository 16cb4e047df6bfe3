"""What a mutant is: the in-memory store with one fault, and the test that states the rule it breaks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from psych_runtime_contract.store.machine import Example, StoreMachine
from psych_runtime_core.clock import Clock
from psych_runtime_memory import InMemoryStore
from psych_runtime_memory.runs import Runs


class MutantStore(InMemoryStore):
    """An in-memory store over `runs`, which have the fault where the store itself has none."""

    runs: ClassVar[type[Runs]] = Runs

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock=clock)
        self._runs = self.runs(self._headers, self._watches, self.live)


@dataclass(frozen=True)
class Mutant:
    """A fault by its name. `words` are in what `test` says of it.

    `machine` sees it alone, too. None does where only calls at once, or rare ones in a row, show it. `also`
    are rules of the same kind that it breaks as well; it keeps all others.
    """

    name: str
    open: Callable[[Clock], InMemoryStore]
    test: str
    words: str
    machine: type[Example] | None = StoreMachine
    also: tuple[str, ...] = ()


def over(runs: type[Runs]) -> Callable[[Clock], InMemoryStore]:
    """A store over these."""
    return type(runs.__name__, (MutantStore,), {"runs": runs})
