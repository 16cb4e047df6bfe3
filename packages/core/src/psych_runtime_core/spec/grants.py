"""Access: what is offered, narrowed by who permits it, who grants it and what can be called now."""

from __future__ import annotations

from collections.abc import Iterable


def narrow(
    offered: Iterable[str],
    *,
    tenant: Iterable[str] | None = None,
    granted: Iterable[str] | None = None,
    callable_now: Iterable[str] | None = None,
) -> tuple[str, ...]:
    """The names of `offered` that every plane lets through, in their order, without repeats.

    A plane is None (it restricts nothing) or patterns: `*`, `prefix*`, or an exact name. `()` lets nothing
    through.
    """
    planes = [tuple(plane) for plane in (tenant, granted, callable_now) if plane is not None]
    return tuple(dict.fromkeys(name for name in offered if all(_allows(plane, name) for plane in planes)))


def _allows(patterns: tuple[str, ...], name: str) -> bool:
    return any(
        name.startswith(pattern[:-1]) if pattern.endswith("*") else name == pattern for pattern in patterns
    )
