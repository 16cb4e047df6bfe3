"""The URL of a store: shown without its password, and read for what a constructor takes."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, cast
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

MASK = "***"
# What every opener is given beside its URL.
GIVEN = frozenset({"codec", "clock", "read_only"})
_WORDS = {"true": True, "false": False}


def masked(url: str) -> str:
    """`url` as it may be shown: each password in it is `***`."""
    parts = urlsplit(url)
    netloc, query = parts.netloc, parts.query
    if parts.password is not None:
        user = netloc.rpartition("@")[0].partition(":")[0]
        netloc = f"{user}:{MASK}@{netloc.rpartition('@')[2]}"
    if "password" in query.lower():
        pairs = parse_qsl(query, keep_blank_values=True)
        shown = [(key, MASK if "password" in key.lower() else value) for key, value in pairs]
        query = urlencode(shown, quote_via=quote, safe="*/:")
    return parts._replace(netloc=netloc, query=query).geturl()


def options(url: str, constructor: Callable[..., object]) -> dict[str, Any]:
    """The query of `url` as keyword arguments of `constructor`, each of the type of its default.

    Raises `ValueError` for one that it does not take, that stands twice, or whose value does not fit.
    """
    known = {
        name: parameter.default
        for name, parameter in inspect.signature(constructor).parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY and name not in GIVEN
    }
    found: dict[str, Any] = {}
    for name, value in parse_qsl(urlsplit(url).query, keep_blank_values=True):
        what = f"{masked(url)}: the option {name!r}"
        if name not in known:
            raise ValueError(f"{what} is unknown; there are {', '.join(known) or 'none'}")
        if name in found:
            raise ValueError(f"{what} stands twice")
        found[name] = _like(known[name], value, what)
    return found


def _like(default: object, value: str, what: str) -> object:
    """`value` as a value of the type of `default`."""
    kind = cast("Callable[[str], object]", type(default))
    try:
        return _WORDS[value] if kind is bool else kind(value)
    except (KeyError, ValueError):
        raise ValueError(f"{what} is {value!r}; give one like {default!r}") from None
