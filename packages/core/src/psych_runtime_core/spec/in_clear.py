"""What looks like a secret by its name: a Spec is stored in clear, and holds the names of secrets alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from psych_runtime_core.errors import Loc
from psych_runtime_core.jsonvalue import Json

_WORDS = ("authorization", "cookie", "secret", "password", "apikey")
_SEPARATORS = str.maketrans("", "", "-_. ")


def is_named_like_a_secret(header: str) -> bool:
    """Of a header, whose value is never harmless under such a name."""
    bare = _bare(header)
    return "token" in bare or any(word in bare for word in _WORDS)


def looks_like_a_secret(name: str, value: Json) -> bool:
    """Of a setting: a text under such a name. Numbers and lists of tokens count or choose something."""
    bare = _bare(name)
    named = bare.endswith("token") or any(word in bare for word in _WORDS)
    return named and isinstance(value, str) and value != ""


def _bare(name: str) -> str:
    return name.lower().translate(_SEPARATORS)


def secrets_in(settings: Json, at: Loc = ()) -> Iterator[Loc]:
    """The place of each setting in `settings`, however deep, that looks like a secret."""
    if isinstance(settings, Mapping):
        for name, value in settings.items():
            if looks_like_a_secret(name, value):
                yield (*at, name)
            yield from secrets_in(value, (*at, name))
    elif isinstance(settings, list | tuple):
        for index, value in enumerate(settings):
            yield from secrets_in(value, (*at, index))
