"""Under which ids the price of a model may stand: the whole one, or the one without the date at its end."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date

_DATED = re.compile(r"(.+?)(?:-([0-9]{4})-([0-9]{2})-([0-9]{2})|[-@]([0-9]{4})([0-9]{2})([0-9]{2}))")


def ids_of(model: str) -> Iterator[str]:
    """The id as it is, with its date written otherwise, and without its date; the closest first.

    Nothing else is taken off: `gpt-4o-mini` is no `gpt-4o`.
    """
    name = model.lower()
    yield name
    dated = _DATED.fullmatch(name)
    if dated is None:
        return
    base, *digits = (group for group in dated.groups() if group)
    year, month, day = digits
    if _is_date(int(year), int(month), int(day)):
        yield from (
            f"{base}-{year}-{month}-{day}",
            f"{base}-{year}{month}{day}",
            f"{base}@{year}{month}{day}",
        )
        yield base


def vendor_of(model: str) -> tuple[str, str]:
    """The provider that an id such as `vendor/model` names, and the rest; `""` where it names none."""
    vendor, slash, rest = model.lower().partition("/")
    return (vendor, rest) if slash else ("", model.lower())


def _is_date(year: int, month: int, day: int) -> bool:
    try:
        date(year, month, day)
    except ValueError:
        return False
    return True
