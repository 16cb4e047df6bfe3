"""How operations reach the database: each in one transaction, many of them one after another."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, Protocol, TypeVar

from psych_runtime_sql.driver import Driver
from psych_runtime_sql.outcome import Outcome

T = TypeVar("T")


class Access(Protocol):
    """The two ways to a store's connections. `operation` is the name that errors tell."""

    async def read(self, operation: str, work: Callable[[Driver], Coroutine[Any, Any, T]]) -> T:
        """Run `work` in one snapshot."""
        ...

    async def write(
        self, operation: str, work: Callable[[Driver], Coroutine[Any, Any, Outcome[T]]], size: int = 0
    ) -> T:
        """Run `work` in one transaction; its answer once that is committed. It adds about `size` bytes."""
        ...
