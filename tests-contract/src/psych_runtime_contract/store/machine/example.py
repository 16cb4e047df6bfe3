"""One sequence of calls on a store that serves many."""

from __future__ import annotations

from collections.abc import Coroutine
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import count
from typing import Any, ClassVar, Protocol, TypeVar

from hypothesis.stateful import RuleBasedStateMachine

from psych_runtime_contract.store.time import StoreTime
from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.store import Store

T = TypeVar("T")


class Do(Protocol):
    """Runs a call in the loop of a store, to its end."""

    def __call__(self, call: Coroutine[Any, Any, T], /) -> T: ...


@dataclass(frozen=True)
class Judged:
    """A store under test. `hints`: watches are told at once."""

    store: Store
    time: StoreTime
    do: Do
    hints: bool = True


class Example(RuleBasedStateMachine):
    """One sequence of calls. It has names of its own, so that all may share one store."""

    judged: ClassVar[Judged]
    examples: ClassVar[count[int]] = count()

    def __init__(self) -> None:
        super().__init__()
        self.space = f"x{next(self.examples)}"
        self.store, self.time = self.judged.store, self.judged.time
        self.written = 0

    def named(self, name: str) -> RunId:
        """The id, or the tenant, that a name stands for in this example."""
        return RunId(f"{self.space}.{name}")

    def do(self, call: Coroutine[Any, Any, T]) -> T:
        """What a call answers, in the loop of the store."""
        return self.judged.do(call)

    def seconds(self, seconds: float) -> float:
        """So long, or so much longer that nothing comes due by itself while the calls are made."""
        return seconds if self.time.is_moved else min(3_600, seconds * 3_600)

    def instant(self, seconds: float | None) -> datetime | None:
        return None if seconds is None else self.time.after(self.seconds(seconds))

    def nearly(self, one: datetime | None, other: datetime | None) -> bool:
        """Whether two instants are one, as far as time can be told."""
        if one is None or other is None:
            return one is other
        return abs(one - other) <= timedelta(seconds=0 if self.time.is_moved else 60)

    def body(self) -> bytes:
        """Bytes that were not written before, and are no text."""
        self.written += 1
        return b"%d\xff" % self.written
