"""A record as two JSON trees, its facts and its content, and back."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from decimal import Decimal
from functools import cache
from typing import Any, Literal, NamedTuple, get_args, get_origin

from pydantic import BaseModel

from psych_runtime_core.content import Content
from psych_runtime_core.frozen import FrozenDict, FrozenList, integral

Tree = dict[str, Any]
UNWRITTEN = frozenset({"erased"})


class FieldPlan(NamedTuple):
    """How one field is written: whether even at its default, whether as content, or as both."""

    name: str
    default: Any
    always: bool
    content: Content | None
    split: bool


def split(model: BaseModel) -> tuple[Tree, Tree]:
    """The facts and the content of `model`. A field equal to its default is left out."""
    facts: Tree = {}
    content: Tree = {}
    for name, default, always, mark, parted in plans(type(model)):
        value = getattr(model, name)
        if not always and value == default:
            continue
        if mark is not None:
            content[name] = plain(value)
        elif parted and value is not None:
            facts[name], below = split(value)
            if below:
                content[name] = below
        else:
            facts[name] = plain(value)
    return facts, content


def join(facts: Tree, content: Tree) -> Tree:
    """The tree that `split` took apart. Raises `ValueError` when the two are not of one record."""
    joined = {**facts, **content}
    for name in facts.keys() & content.keys():
        if not isinstance(facts[name], dict) or not isinstance(content[name], dict):
            raise ValueError(f"{name} stands among the facts and in the content")
        joined[name] = join(facts[name], content[name])
    return joined


def emptied(cls: type[BaseModel], facts: Tree) -> Tree:
    """`facts` with every content field of `cls` as it reads once erased."""
    filled = dict(facts)
    for plan in plans(cls):
        if plan.content is not None:
            filled[plan.name] = plan.content.empty
        elif plan.split and filled.get(plan.name) is not None:
            filled[plan.name] = emptied(_model_of(cls, plan.name), filled[plan.name])
    return filled


def plain(value: Any) -> Any:
    """`value` as JSON holds it: exact texts for Decimals and instants, base64 for bytes."""
    kind = value.__class__
    return value if kind in _PLAIN else _writer(kind)(value)


def instant(at: datetime) -> str:
    """RFC 3339 with six digits and `Z`."""
    return at.astimezone(UTC).isoformat(timespec="microseconds").removesuffix("+00:00") + "Z"


def _whole(model: BaseModel) -> Tree:
    """The facts and the content of `model` in one tree."""
    tree: Tree = {}
    for name, default, always, _, _ in plans(type(model)):
        value = getattr(model, name)
        if always or value != default:
            tree[name] = plain(value)
    return tree


def _array(items: Iterable[Any]) -> list[Any]:
    return [plain(item) for item in items]


def _same(value: Any) -> Any:
    return value


_PLAIN = frozenset({type(None), bool, int, str, dict, FrozenDict, FrozenList})
_WRITERS: tuple[tuple[type | tuple[type, ...], Callable[[Any], Any]], ...] = (
    (BaseModel, _whole),
    (float, integral),
    # The words of an enumeration among them.
    ((str, int, dict), _same),
    ((list, tuple), _array),
    (datetime, instant),
    (Decimal, str),
    (bytes, lambda value: base64.b64encode(value).decode("ascii")),
)


@cache
def _writer(kind: type) -> Callable[[Any], Any]:
    """How values of a class are written. Raises `TypeError` for one that has no form."""
    for kinds, write in _WRITERS:
        if issubclass(kind, kinds):
            return write
    raise TypeError(f"{kind.__name__} has no form in a record")


@cache
def plans(cls: type[BaseModel]) -> tuple[FieldPlan, ...]:
    """The plan of each field of `cls`, in order."""
    return tuple(_plan(cls, name) for name in cls.model_fields if name not in UNWRITTEN)


def _plan(cls: type[BaseModel], name: str) -> FieldPlan:
    field = cls.model_fields[name]
    content = next((mark for mark in field.metadata if isinstance(mark, Content)), None)
    below = _models(field.annotation)
    return FieldPlan(
        name=name,
        default=field.get_default(),
        always=field.is_required() or _is_tag(field.annotation),
        content=content,
        split=content is None and any(_has_content(model) for model in below),
    )


def _is_tag(annotation: Any) -> bool:
    return get_origin(annotation) is Literal and len(get_args(annotation)) == 1


def _models(annotation: Any) -> tuple[type[BaseModel], ...]:
    """The model that a field holds directly, alone or beside None."""
    options = (annotation, *get_args(annotation)) if get_origin(annotation) is not tuple else ()
    return tuple(one for one in options if isinstance(one, type) and issubclass(one, BaseModel))


def _model_of(cls: type[BaseModel], name: str) -> type[BaseModel]:
    return _models(cls.model_fields[name].annotation)[0]


def _has_content(cls: type[BaseModel]) -> bool:
    return any(plan.content is not None or plan.split for plan in plans(cls))
