"""Many values as one parameter, and values inside a column: what the database's JSON functions do."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from sqlalchemy import (
    Column,
    ColumnElement,
    Select,
    Text,
    bindparam,
    exists,
    false,
    func,
    literal,
    or_,
    select,
)


def json_array(texts: Iterable[str]) -> str:
    """Texts as one parameter."""
    return json.dumps(list(texts), ensure_ascii=False)


def members(name: str) -> Select[Any]:
    """The members of a parameter that is a JSON array of texts: one text for any number of them."""
    return _members(bindparam(name))


def members_of(texts: Iterable[str]) -> Select[Any]:
    """These texts."""
    return _members(literal(json_array(texts)))


def _members(array: ColumnElement[Any]) -> Select[Any]:
    each = func.json_each(array).table_valued(Column("value", Text), name="member")
    return select(each.c.value)


def has_pair(column: ColumnElement[Any], key: str, value: str) -> ColumnElement[bool]:
    """Whether an object has this member, compared byte for byte."""
    pair = func.json_each(column).table_valued("key", "value", name="pair")
    return exists().select_from(pair).where(pair.c.key == literal(key), pair.c.value == literal(value))


def has_first(column: ColumnElement[Any], firsts: Iterable[str]) -> ColumnElement[bool]:
    """Whether a member of an array of arrays begins with one of these."""
    member = func.json_each(column).table_valued("value", name="inner_array")
    first = func.json_extract(member.c.value, "$[0]")
    holds = (first == literal(each) for each in firsts)
    return exists().select_from(member).where(or_(false(), *holds))
