"""Whether a consumer's object can be asked as an egress policy is, before any request meets it."""

from __future__ import annotations

from inspect import iscoroutinefunction
from typing import Any

_QUESTIONS = {"allow": "allow(self, request)", "allow_address": "allow_address(self, request, address)"}


def fault_of(policy: object) -> str | None:
    """What `policy` is in place of an EgressPolicy, and what to write; None for one that can be asked."""
    if isinstance(policy, type):
        return f"the class {policy.__name__}; give an instance: {policy.__name__}()"
    kind = type(policy).__name__
    absent = [name for name in _QUESTIONS if not callable(getattr(policy, name, None))]
    if absent:
        return f"a {kind} without {', '.join(absent)}; give an EgressPolicy, such as PublicOnly()"
    plain = [name for name in _QUESTIONS if not _is_async(getattr(policy, name))]
    if plain:
        return f"a {kind} whose {plain[0]} is not async; write async def {_QUESTIONS[plain[0]]}"
    return None


def _is_async(question: Any) -> bool:
    """Of an object that is called in place of a function, its `__call__` says it."""
    return iscoroutinefunction(question) or iscoroutinefunction(type(question).__call__)
