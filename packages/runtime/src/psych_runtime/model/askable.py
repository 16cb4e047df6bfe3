"""Whether a consumer's object can be asked as a model client is, before any Run meets it."""

from __future__ import annotations

from inspect import iscoroutinefunction

from psych_runtime.shapes import Shape, shape_fault

_CLIENT = Shape(("stream", "provider", "capabilities", "known_models"), "give a ModelClient")


def fault_of_client(client: object) -> str | None:
    """What `client` is in place of a ModelClient, and what to write; None for one that can be asked."""
    if fault := shape_fault(client, _CLIENT):
        return fault
    if iscoroutinefunction(getattr(client, "stream", None)):
        kind = type(client).__name__
        return f"a {kind} whose stream gives a coroutine; yield its events: async def stream(…) with a yield"
    return None
