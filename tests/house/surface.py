"""Walks from exported names to every type that a user can come to hold."""

import inspect
import sys
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any

Path = tuple[str, ...]


def reachable(exported: Mapping[str, object], ours: Callable[[type], bool]) -> dict[type, Path]:
    """Every class of ours that is reached from `exported`, with the path that leads there first."""
    found: dict[type, Path] = {}
    seen: set[int] = set()
    todo: list[tuple[Path, object]] = [((name,), value) for name, value in exported.items()]
    for path, value in todo:  # grows while it is walked
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, type) and ours(value):
            found.setdefault(value, path)
        todo += [((*path, edge), after) for edge, after in edges(value, ours)]
    return found


def edges(value: object, ours: Callable[[type], bool]) -> Iterator[tuple[str, object]]:
    """What one step leads to: the parts of a class of ours, of a function, or of a type expression."""
    if isinstance(value, type) and not typing.get_origin(value):
        if ours(value):
            yield from edges_of_class(value)
    elif inspect.isroutine(value):
        yield from hints(value).items()
    else:
        yield from (("[]", part) for part in parts(value))


def parts(expression: object) -> Iterable[object]:
    """What a type expression is made of: generics, unions, `Annotated`, aliases, callables, bounds."""
    if isinstance(expression, list | tuple):
        return typing.cast("Iterable[object]", expression)
    if isinstance(expression, typing.TypeVar):
        return (expression.__bound__, *expression.__constraints__)
    inner = [getattr(expression, "__value__", None), getattr(expression, "__supertype__", None)]
    return (
        *typing.get_args(expression),
        typing.get_origin(expression),
        *(part for part in inner if part is not None),
    )


def edges_of_class(cls: type) -> Iterator[tuple[str, object]]:
    """Bases, fields, exception attributes, and what public methods and properties take and give."""
    yield from (("base", base) for base in generic_bases(cls))
    yield from ((f".{name}", hint) for name, hint in hints(cls).items() if is_public(name))
    for name in vars(cls):
        if is_public(name) or name in {
            "__init__",
            "__call__",
            "__aenter__",
            "__enter__",
            "__iter__",
            "__aiter__",
        }:
            for function in functions(cls, name):
                yield from ((f".{name}({edge})", hint) for edge, hint in hints(function).items())


def generic_bases(cls: type) -> Iterable[object]:
    """The bases as they were written; pydantic keeps those of a parametrised model elsewhere."""
    pydantic: Mapping[str, Any] = getattr(cls, "__pydantic_generic_metadata__", {})
    return (*getattr(cls, "__orig_bases__", cls.__bases__), *pydantic.get("args", ()))


def is_public(name: str) -> bool:
    """Whether a member is for users."""
    return not name.startswith("_")


def functions(cls: type, name: str) -> Iterator[object]:
    """The functions in a member of a class."""
    member = vars(cls)[name]
    if isinstance(member, property):
        yield member.fget
    elif isinstance(member, cached_property):
        yield typing.cast("object", member.func)
    elif inspect.isfunction(member) or isinstance(member, staticmethod | classmethod):
        yield getattr(cls, name)


def hints(annotated: object) -> dict[str, Any]:
    """Resolved annotations. A name imported for type checking alone is looked up all over."""
    try:
        return typing.get_type_hints(annotated, include_extras=True)
    except NameError:
        own = vars(sys.modules[str(getattr(annotated, "__module__", "typing"))])
        return typing.get_type_hints(annotated, localns=every_name() | own, include_extras=True)
    except TypeError:
        return {}


def every_name() -> dict[str, object]:
    """What an annotation may name: all that the loaded modules of ours and the usual ones define."""
    usual = ["collections.abc", "datetime", "decimal", "pathlib", "types", "typing"]
    ours = [name for name in sys.modules if name.startswith("psych_runtime")]
    named: dict[str, object] = {}
    for name in [*usual, *ours]:
        module = sys.modules.get(name, types.ModuleType(name))
        named |= {key: value for key, value in vars(module).items() if is_public(key)}
    return named
