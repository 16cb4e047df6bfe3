"""Whether a consumer's object can be asked or told as it will be, before any request meets it."""

from __future__ import annotations

from inspect import isasyncgenfunction, iscoroutinefunction
from typing import Any

from psych_runtime.shapes import Shape, shape_fault

_QUESTIONS = {"allow": "allow(self, request)", "allow_address": "allow_address(self, request, address)"}
_POLICY = Shape(tuple(_QUESTIONS), "give an EgressPolicy, such as PublicOnly()")


def fault_of(policy: object) -> str | None:
    """What `policy` is in place of an EgressPolicy, and what to write; None for one that can be asked."""
    if fault := shape_fault(policy, _POLICY):
        return fault
    plain = [name for name in _QUESTIONS if not _is_async(getattr(policy, name))]
    if plain:
        kind = type(policy).__name__
        return f"a {kind} whose {plain[0]} is not async; write async def {_QUESTIONS[plain[0]]}"
    return None


def require_policy(policy: object) -> None:
    """`TypeError` for what cannot be asked."""
    if fault := fault_of(policy):
        raise TypeError(f"policy is {fault}")


def require_plain(**functions: object) -> None:
    """`TypeError` for what is no plain function, called and not awaited; a setting of None is left out."""
    for name, function in functions.items():
        if function is not None and (fault := _fault_of_plain(function)):
            raise TypeError(f"{name}= is {fault}")


def _fault_of_plain(function: object) -> str | None:
    if isinstance(function, type):
        return f"the class {function.__name__}; give a plain function, or an instance that can be called"
    if not callable(function):
        return f"a {type(function).__name__}; give a plain function"
    if _is_async(function) or isasyncgenfunction(function):
        return "async, and nobody awaits it; write def in place of async def"
    return None


def _is_async(question: Any) -> bool:
    """Of an object that is called in place of a function, its `__call__` says it."""
    called = type(question).__call__ if callable(question) else None
    return iscoroutinefunction(question) or iscoroutinefunction(called)
