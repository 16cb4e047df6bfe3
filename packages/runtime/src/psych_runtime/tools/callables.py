"""What a callable is: its name, its docstring, the function inside it, whether it is async."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Awaitable, Callable
from typing import Any, cast, get_origin

from psych_runtime_core.errors import ToolSchemaError
from psych_runtime_core.spec.http_tool import HttpTool
from psych_runtime_core.spec.tools import CodeTool


def name_of(fn: object) -> str | None:
    """The name it was defined under; a lambda and most partials have none, an object has its class's."""
    name = getattr(fn, "__name__", None)
    if name is None and not isinstance(fn, functools.partial):
        name = type(fn).__name__
    return name if isinstance(name, str) and name != "<lambda>" else None


def check_callable(fn: object, tool: str) -> None:
    """Raise `ToolSchemaError` for what is no function, or is one that yields."""
    if isinstance(fn, CodeTool | HttpTool):
        article = "an" if isinstance(fn, HttpTool) else "a"
        raise ToolSchemaError(
            tool, None, f"{article} {type(fn).__name__} is data: put it into the Spec's `tools`"
        )
    if isinstance(fn, type):
        raise ToolSchemaError(
            tool, None, f"a class is no tool: write a function that returns {fn.__name__}(…)"
        )
    if not callable(fn):
        advice = "put the decorator below @classmethod, or register the bound method"
        raise ToolSchemaError(tool, None, f"a {type(fn).__name__} cannot be called: {advice}")
    declared = _declared(fn)
    if inspect.isgeneratorfunction(declared) or inspect.isasyncgenfunction(declared):
        raise ToolSchemaError(tool, None, "it yields: collect the items and write `return items`")


def is_async(fn: Callable[..., object], returns: object = None) -> bool:
    """Whether a call gives an awaitable: it is declared `async def`, or its return hint says so.

    What is declared otherwise and gives one all the same is found out when it is called.
    """
    promised = get_origin(returns) or returns
    promises = isinstance(promised, type) and issubclass(promised, Awaitable)
    return promises or inspect.iscoroutinefunction(_declared(fn))


def innermost(fn: object) -> Any:
    """The plain function at the bottom: below partials, methods, `__call__` and every decorator's wrapper."""
    below = _declared(fn)
    while hasattr(below, "__wrapped__"):
        below = _declared(below.__wrapped__)
    return below


def docstring_of(fn: object) -> str | None:
    """The docstring of the function; of an object that has a `__call__` without one, its class's."""
    if isinstance(fn, functools.partial):
        # A partial's own docstring is that of `functools.partial`, unless somebody gave it another.
        return cast("str | None", vars(fn).get("__doc__")) or docstring_of(cast("object", fn.func))
    if inspect.isroutine(fn):
        return fn.__doc__ or innermost(fn).__doc__
    return innermost(fn).__doc__ or type(fn).__doc__


def _declared(fn: Any) -> Any:
    """The function that a call reaches first."""
    while True:
        if isinstance(fn, functools.partial):
            fn = cast("Any", fn.func)
        elif inspect.ismethod(fn) or isinstance(fn, staticmethod):
            fn = fn.__func__
        elif inspect.isroutine(fn) or isinstance(fn, type):
            return fn
        else:
            fn = type(fn).__call__
