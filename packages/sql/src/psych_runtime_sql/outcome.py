"""What an operation answers, and what others should hear of it once it is committed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from psych_runtime_core.ids import RunId

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Outcome(Generic[T]):
    """`heads` are the new ends of logs by their Run; `ready`: there is new work to claim.

    `texts`: the Runs whose live text goes on.
    """

    answer: T
    heads: Mapping[RunId, int] = field(default_factory=dict[RunId, int])
    ready: bool = False
    texts: frozenset[RunId] = frozenset()
