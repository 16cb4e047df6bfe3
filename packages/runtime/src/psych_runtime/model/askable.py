"""Whether a consumer's object can be asked as a model client is, before any Run meets it."""

from __future__ import annotations

from inspect import iscoroutinefunction

_NEEDED = ("stream", "provider", "capabilities", "known_models")


def fault_of_client(client: object) -> str | None:
    """What `client` is in place of a ModelClient, and what to write; None for one that can be asked."""
    if isinstance(client, type):
        return f"the class {client.__name__}; give an instance: {client.__name__}(…)"
    kind = type(client).__name__
    absent = [name for name in _NEEDED if not hasattr(client, name)]
    if absent:
        return f"a {kind} without {', '.join(absent)}; give a ModelClient"
    if iscoroutinefunction(getattr(client, "stream", None)):
        return f"a {kind} whose stream gives a coroutine; yield its events: async def stream(…) with a yield"
    return None
