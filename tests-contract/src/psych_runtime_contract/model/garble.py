"""Good streams gone bad: keys lost, types swapped, bytes flipped. Equal seeds give equal damage."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sized
from random import Random
from typing import Any, cast

_STRANGERS: tuple[Any, ...] = (None, True, -1, 1.5, "", "x", [], [None], {}, {"x": 1}, 10**40)


def garbled(body: bytes, random: Random) -> bytes:
    """`body` with one kind of damage."""
    damage = random.choice((_a_node, _a_node, _a_byte, _a_slice))
    return damage(body, random) if body else body


def _a_byte(body: bytes, random: Random) -> bytes:
    place = random.randrange(len(body))
    return body[:place] + bytes([random.randrange(256)]) + body[place + 1 :]


def _a_slice(body: bytes, random: Random) -> bytes:
    place = random.randrange(len(body))
    return body[:place] + body[place + random.randint(1, 12) :]


def _a_node(body: bytes, random: Random) -> bytes:
    """One value somewhere in the JSON of one line becomes another, or is gone."""
    lines = body.split(b"\n")
    places = [place for place, line in enumerate(lines) if line.startswith(b"data: {")]
    if not places:
        return _a_byte(body, random)
    place = random.choice(places)
    try:
        value: Any = json.loads(lines[place].removeprefix(b"data: "))
    except (ValueError, RecursionError):
        return _a_byte(body, random)
    _swap(*random.choice(list(_nodes(value))), random)
    lines[place] = b"data: " + json.dumps(value).encode()
    return b"\n".join(lines)


def _nodes(value: Any) -> Iterator[tuple[Any, Any]]:
    """Each place below `value`: what it is in, and its key there."""
    for key in _keys(value):
        yield value, key
        yield from _nodes(value[key])


def _keys(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(cast("dict[str, Any]", value))
    return list(range(len(cast("Sized", value)))) if isinstance(value, list) else []


def _swap(within: Any, key: Any, random: Random) -> None:
    if random.random() < 0.4:
        del within[key]
    else:
        within[key] = random.choice(_STRANGERS)
