"""What a publisher knows of the world that a Spec names."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ValidationContext:
    """Names that exist. None is "not known, do not check"; an empty collection is "known: there are none"."""

    registered_tools: Collection[str] | None = None
    known_models: Collection[str] | None = None
    credentials: Collection[str] | None = None
