"""How much work a call is, counted: time says something else on every machine."""

import sys
from collections.abc import Awaitable
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar

import psych_runtime_memory

T = TypeVar("T")

HOME = str(Path(psych_runtime_memory.__file__).parent)


async def lines_of(call: Awaitable[T]) -> int:
    """The lines of the in-memory store that a call goes through."""
    count = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        if not frame.f_code.co_filename.startswith(HOME):
            return None
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        await call
    finally:
        sys.settrace(before)
    return count
