"""Run where `psych-runtime` is installed alone: the command answers, each door says what to install."""

import importlib
import importlib.util
import subprocess
from collections.abc import Callable
from functools import partial
from importlib import metadata

from psych_runtime import GenaiPrices, MissingExtra

# `testing` brings a distribution that is imported under its own name.
FEATURES = {"all", "testing"}


def main() -> None:
    """Raise on the first thing that is not as promised."""
    said = subprocess.run(["psych", "--version"], capture_output=True, text=True, check=True).stdout
    assert said == f"psych {metadata.version('psych-runtime')}\n", said
    extras = metadata.metadata("psych-runtime").get_all("Provides-Extra") or []
    for extra in set(extras) - FEATURES:
        knock(extra)


def door_of(extra: str) -> Callable[[], object]:
    """What is done to need the extra."""
    if extra == "prices":
        return GenaiPrices
    in_store = f"psych_runtime.store.{extra}"
    door = in_store if importlib.util.find_spec(in_store) else f"psych_runtime.{extra}"
    return partial(importlib.import_module, door)


def knock(extra: str) -> None:
    """A door without what stands behind it names the command that brings it."""
    try:
        door_of(extra)()
    except MissingExtra as missing:
        said = str(missing)
    else:
        said = f"the door of {extra} opened"
    assert f"'psych-runtime[{extra}]==" in said, said


main()
