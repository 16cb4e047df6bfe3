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
    """How one field is written: whether even at its default, whether as content, or as both.

    `parted`: it holds a model that is both, or several of one.
    """

    name: str
    default: Any
    always: bool
    content: Content | None
    parted: Literal["no", "one", "each"]


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
        elif parted != "no" and value is not None:
            facts[name], below = split(value) if parted == "one" else _split_each(value)
            if below:
                content[name] = below
        else:
            facts[name] = plain(value)
    return facts, content


def _split_each(models: Iterable[BaseModel]) -> tuple[list[Tree], Tree]:
    """The facts of each, and the content of those that have any, by their place."""
    parts = [split(model) for model in models]
    return [facts for facts, _ in parts], {str(at): below for at, (_, below) in enumerate(parts) if below}


def join(facts: Tree, content: Tree) -> Tree:
    """The tree that `split` took apart. Raises `ValueError` when the two are not of one record."""
    joined = {**facts, **content}
    for name in facts.keys() & content.keys():
        if not isinstance(facts[name], dict | list) or not isinstance(content[name], dict):
            raise ValueError(f"{name} stands among the facts and in the content")
        if isinstance(facts[name], list):
            # Content of a place that the facts lack makes an item there, and it lacks what it must have.
            joined[name] = [*join(_by_place(facts[name]), content[name]).values()]
        else:
            joined[name] = join(facts[name], content[name])
    return joined


def _by_place(items: list[Any]) -> Tree:
    return {str(at): item for at, item in enumerate(items)}


def emptied(cls: type[BaseModel], facts: Tree) -> Tree:
    """`facts` with every content field of `cls` as it reads once erased."""
    filled = dict(facts)
    for plan in plans(cls):
        if plan.content is not None:
            filled[plan.name] = plan.content.empty
        elif plan.parted != "no" and filled.get(plan.name) is not None:
            below, model = filled[plan.name], _model_of(cls, plan.name)
            one = plan.parted == "one"
            filled[plan.name] = emptied(model, below) if one else [emptied(model, each) for each in below]
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
        parted=_parted(field.annotation) if content is None and any(map(_has_content, below)) else "no",
    )


def _parted(annotation: Any) -> Literal["one", "each"]:
    return "each" if get_origin(annotation) is tuple else "one"


def _is_tag(annotation: Any) -> bool:
    return get_origin(annotation) is Literal and len(get_args(annotation)) == 1


def _models(annotation: Any) -> tuple[type[BaseModel], ...]:
    """The model that a field holds, alone or beside None, or any number of."""
    options = (annotation, *get_args(annotation))
    return tuple(one for one in options if isinstance(one, type) and issubclass(one, BaseModel))


def _model_of(cls: type[BaseModel], name: str) -> type[BaseModel]:
    return _models(cls.model_fields[name].annotation)[0]


def _has_content(cls: type[BaseModel]) -> bool:
    return any(plan.content is not None or plan.parted != "no" for plan in plans(cls))
