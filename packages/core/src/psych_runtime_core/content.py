"""Which fields of a record are content: what a codec seals, and what an erasure takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Content:
    """Marks a field as content, in `Annotated`; `empty` is what it reads as once that is erased."""

    empty: Any = None
