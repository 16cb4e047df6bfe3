"""Run where these extras are installed: `doors.py [EXTRA…]`. Their doors open, others say what to type."""

import importlib
import importlib.util
import sys
from collections.abc import Callable
from functools import partial
from importlib import metadata

from psych_runtime import GenaiPrices, MissingExtra

VERSION = metadata.version("psych-runtime")
# What an extra brings that has no door: it is imported under its own name.
DOORLESS = {"testing": "psych_runtime_contract"}


def main(installed: set[str]) -> None:
    """Raise on the first door that is not as promised."""
    extras = set(metadata.metadata("psych-runtime").get_all("Provides-Extra") or ()) - {"all"}
    assert installed <= extras, extras
    for extra, package in DOORLESS.items():
        assert (importlib.util.find_spec(package) is not None) == (extra in installed), package
    for extra in extras - DOORLESS.keys():
        said = knock(door_of(extra))
        if extra in installed:
            assert said is None, said
        else:
            assert said is not None, f"the door of {extra} opened"
            assert f"pip install --no-index --find-links dist 'psych-runtime[{extra}]=={VERSION}'" in said, (
                said
            )


def door_of(extra: str) -> Callable[[], object]:
    """What is done to need the extra."""
    if extra == "prices":
        return GenaiPrices
    in_store = f"psych_runtime.store.{extra}"
    door = in_store if importlib.util.find_spec(in_store) else f"psych_runtime.{extra}"
    return partial(importlib.import_module, door)


def knock(door: Callable[[], object]) -> str | None:
    """What a closed door says; None of one that opens."""
    try:
        door()
    except MissingExtra as missing:
        return str(missing)
    return None


main(set(sys.argv[1:]))
