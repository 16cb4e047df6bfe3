"""Type hints of parameters: resolved where they were written, and refused when no JSON can fill them."""

from __future__ import annotations

from collections import abc
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from psych_runtime.tools.context import ToolContext
from psych_runtime_core.errors import ToolSchemaError


def resolved(annotation: object, names: dict[str, Any]) -> Any:
    """The type that a hint means; `names` is what its module knows. Raises `NameError` and the like."""
    holder = SimpleNamespace(__annotations__={"hint": annotation})
    return get_type_hints(holder, globalns=names, include_extras=True)["hint"]


def text_in(hint: Any) -> str | None:
    """The bare text of `Annotated[X, "text"]`."""
    if get_origin(hint) is not Annotated:
        return None
    return next((extra for extra in get_args(hint)[1:] if isinstance(extra, str)), None)


def check_hint(hint: Any, tool: str, parameter: str) -> None:
    """Raise `ToolSchemaError` for a type that JSON cannot fill, even where pydantic would take anything."""
    for part in _parts(hint, set()):
        advice = _advice(part, parameter)
        if advice:
            raise ToolSchemaError(tool, parameter, f"{called(part)} has no JSON form: {advice}")


def called(hint: Any) -> str:
    """A type as its author wrote it, nearly."""
    return hint.__name__ if isinstance(hint, type) and not get_args(hint) else str(hint)


def _advice(part: Any, parameter: str) -> str | None:
    """What to write in place of a type that no JSON fills."""
    if part is object:
        return f"write `{parameter}: Any` for any JSON, or the type that is meant"
    if isinstance(part, TypeVar):
        bound = part.__bound__ is not None or part.__constraints__
        return None if bound else f"write the type that is meant in place of {part}"
    if isinstance(part, type) and getattr(part, "__parameters__", None):
        return f"say of what, as in `{parameter}: {part.__name__}[int]`"
    return next((advice for kinds, advice in _ADVICE if (get_origin(part) or part) in kinds), None)


_ADVICE: tuple[tuple[tuple[Any, ...], str], ...] = (
    (
        (get_origin(abc.Callable[..., Any]),),
        "let the tool choose between functions by a name, as in `mode: Literal['fast', 'exact']`",
    ),
    (
        (abc.Iterable, abc.Iterator, abc.Generator, abc.AsyncIterable, abc.AsyncIterator, abc.AsyncGenerator),
        "write `list[…]`; JSON arrays come whole",
    ),
    ((range,), "write two parameters, `start: int, stop: int`"),
    ((complex,), "write two parameters, `real: float, imag: float`"),
    ((ToolContext,), "write `context: ToolContext`, a parameter of its own that is filled in for the tool"),
)


def _parts(hint: Any, seen: set[int]) -> Iterator[Any]:
    """The types that a hint is made of, the inside of classes left alone."""
    if id(hint) in seen:
        return
    seen.add(id(hint))
    yield hint
    if get_origin(hint) is Literal:
        return
    inner = get_args(hint)[:1] if get_origin(hint) is Annotated else get_args(hint)
    # `type X = …` has a value that may name itself, `NewType` a supertype.
    behind = [getattr(hint, name, None) for name in ("__value__", "__supertype__")]
    for part in (*inner, *(each for each in behind if each is not None)):
        yield from _parts(part, seen)
