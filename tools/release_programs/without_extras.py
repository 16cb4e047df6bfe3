"""Run where `psych-runtime` is installed alone: the command answers, each door says what to install."""

import importlib
import importlib.util
import subprocess
from importlib import metadata

from psych_runtime import MissingExtra

FEATURES = {"all"}


def main() -> None:
    """Raise on the first thing that is not as promised."""
    said = subprocess.run(["psych", "--version"], capture_output=True, text=True, check=True).stdout
    assert said == f"psych {metadata.version('psych-runtime')}\n", said
    extras = metadata.metadata("psych-runtime").get_all("Provides-Extra") or []
    for extra in set(extras) - FEATURES:
        knock(extra)


def knock(extra: str) -> None:
    """A door without what stands behind it names the command that brings it."""
    in_store = f"psych_runtime.store.{extra}"
    door = in_store if importlib.util.find_spec(in_store) else f"psych_runtime.{extra}"
    try:
        importlib.import_module(door)
    except MissingExtra as missing:
        said = str(missing)
    else:
        said = f"{door} opened"
    assert f"'psych-runtime[{extra}]==" in said, said


main()
