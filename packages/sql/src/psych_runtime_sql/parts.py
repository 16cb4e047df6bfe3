"""Calls of several transactions: which of them was done, nobody knows when a later one fails."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from psych_runtime_core.errors import StoreUnavailable


@contextmanager
def a_part(*, others_done: bool = True) -> Generator[None]:
    """One of them. Where others were done before it, its failure does not say that nothing was written."""
    try:
        yield
    except StoreUnavailable as error:
        if not others_done or error.outcome == "unknown":
            raise
        raise type(error)(error.operation, error.detail, "unknown") from error.__cause__
