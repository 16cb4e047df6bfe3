"""A callable's signature, as a tool needs it: what a model fills in, what is injected, how it is called."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from inspect import Parameter as Declared
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from psych_runtime.tools.callables import check_callable, innermost, is_async
from psych_runtime.tools.context import ToolContext
from psych_runtime.tools.hints import check_hint, resolved
from psych_runtime_core.errors import ToolSchemaError

NO_DEFAULT = Declared.empty
Code = Callable[[], object]


@dataclass(frozen=True, slots=True)
class Parameter:
    """One that a model fills in: its resolved hint, and its default or `NO_DEFAULT`."""

    name: str
    hint: Any
    default: object = NO_DEFAULT


@dataclass(frozen=True, slots=True)
class Callee:
    """How a function is called. `context` is the name of its `ToolContext` parameter, `None` without one."""

    fn: Callable[..., object]
    is_async: bool
    context: str | None
    positional: tuple[str, ...]

    def bind(self, values: Mapping[str, object], context: ToolContext | None) -> Code:
        """The function with its arguments, to be called with none more."""
        named = dict(values)
        if self.context is not None:
            named[self.context] = context
        positional = [named.pop(name) for name in self.positional if name in named]
        return partial(self.fn, *positional, **named)


def callee_of(fn: Any, tool: str) -> Callee:
    """How `fn` is called. Raises `ToolSchemaError` for what is no function, or takes two contexts."""
    check_callable(fn, tool)
    declared = _declared(fn, tool)
    contexts = [each.name for each in declared if _is_context(_hint(fn, each.annotation))]
    if len(contexts) > 1:
        raise ToolSchemaError(tool, contexts[1], f"{contexts[0]!r} is a ToolContext already: take one away")
    positional = tuple(each.name for each in declared if each.kind is Declared.POSITIONAL_ONLY)
    returns = _hint(fn, inspect.signature(fn).return_annotation)
    return Callee(fn, is_async(fn, returns), contexts[0] if contexts else None, positional)


def parameters_of(fn: Any, tool: str) -> tuple[Parameter, ...]:
    """What a model fills in, in order. Raises `ToolSchemaError` for what it cannot fill in."""
    parameters: list[Parameter] = []
    for each in _declared(fn, tool):
        _check_named(each, tool)
        hint = _hint(fn, each.annotation)
        if isinstance(hint, _Unresolved):
            raise ToolSchemaError(tool, each.name, hint.told(fn))
        if not _is_context(hint):
            check_hint(hint, tool, each.name)
            parameters.append(Parameter(each.name, hint, each.default))
    return tuple(parameters)


def names_of(callee: Callee, tool: str) -> tuple[str, ...]:
    """The parameters that a caller gives, `*args` and `**kwargs` among them."""
    return tuple(each.name for each in _declared(callee.fn, tool) if each.name != callee.context)


def _declared(fn: Any, tool: str) -> list[Declared]:
    """The parameters, without those that a partial has filled in by name: nobody else may."""
    try:
        signature = inspect.signature(fn)
    except (TypeError, ValueError, NameError) as error:
        advice = "wrap it in a function with type hints"
        raise ToolSchemaError(tool, None, f"its signature cannot be read ({error}): {advice}") from None
    filled: Mapping[str, object] = fn.keywords if isinstance(fn, partial) else {}
    return [each for each in signature.parameters.values() if each.name not in filled]


def _check_named(each: Declared, tool: str) -> None:
    if each.kind is Declared.VAR_POSITIONAL:
        raise ToolSchemaError(tool, each.name, f"`*{each.name}` has no names: write `{each.name}: list[str]`")
    if each.kind is Declared.VAR_KEYWORD:
        reason = f"`**{each.name}` is open: write each parameter, or one `{each.name}: dict[str, str]`"
        raise ToolSchemaError(tool, each.name, reason)
    if each.annotation is Declared.empty:
        raise ToolSchemaError(
            tool, each.name, f"it has no type hint: write `{each.name}: str`, or what it is"
        )


# --- hints -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Unresolved:
    annotation: object
    error: Exception

    def told(self, fn: object) -> str:
        module = getattr(innermost(fn), "__module__", "its own module")
        return (
            f"its hint {self.annotation!r} does not resolve ({self.error}): the type must live at the top of"
            f" {module}, outside functions and `if TYPE_CHECKING:`"
        )


def _hint(fn: object, annotation: object) -> Any:
    try:
        return resolved(annotation, getattr(innermost(fn), "__globals__", {}))
    except Exception as error:
        # A string hint is evaluated: it may raise anything.
        return _Unresolved(annotation, error)


def _is_context(hint: Any) -> bool:
    """Whether it is `ToolContext`, also where it may be None for callers who have none."""
    if get_origin(hint) is Annotated:
        return _is_context(get_args(hint)[0])
    if get_origin(hint) in (Union, UnionType):
        return set(get_args(hint)) == {ToolContext, NoneType}
    return hint is ToolContext
