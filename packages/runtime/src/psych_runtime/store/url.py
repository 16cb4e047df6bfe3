"""The URL of a store: shown without its password, and read for what a constructor takes."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, cast
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

MASK = "***"
# What every opener is given beside its URL.
GIVEN = frozenset({"codec", "clock", "read_only"})
_WORDS = {"true": True, "false": False}


def masked(url: str) -> str:
    """`url` as it may be shown: as it stands, each password in it `***`."""
    parts, shown = urlsplit(url), url
    if parts.password is not None:
        user, _, host = parts.netloc.rpartition("@")
        shown = parts._replace(netloc=f"{user.partition(':')[0]}:{MASK}@{host}").geturl()
    if "password" in parts.query.lower():
        pairs = parse_qsl(parts.query, keep_blank_values=True)
        told = [(key, MASK if "password" in key.lower() else value) for key, value in pairs]
        # Not by geturl: where there is no host it gives back fewer slashes.
        shown = f"{shown.partition('?')[0]}?{urlencode(told, quote_via=quote, safe='*/:')}"
        shown += f"#{parts.fragment}" if parts.fragment else ""
    return shown


def scheme_of(url: str) -> str:
    """The scheme of `url` in small letters; empty for none. Raises `ValueError` for blanks around it."""
    if url != url.strip():
        raise ValueError(f"{masked(url.strip())} has blanks around it; leave them out")
    return urlsplit(url).scheme


def file_of(url: str) -> str:
    """The file that a URL of SQLite names. Raises `ValueError` for another form."""
    parts = urlsplit(url)
    path = unquote(parts.path[1:])
    if not url.startswith("sqlite:///") or not path or parts.fragment:
        raise ValueError(f"{masked(url)}: write sqlite:///relative.db or sqlite:////absolute/path.db")
    return path


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
