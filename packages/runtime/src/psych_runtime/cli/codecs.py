"""The codec that `--codec` names, and what stands for it where none is named."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import Any, cast

from psych_runtime.cli.exits import CommandError
from psych_runtime.shapes import Shape, shape_fault
from psych_runtime_core.records import ClosedCodec, Codec

_CODEC = Shape(("prepare", "seal", "open"), "name a Codec, or what gives one")


def codec_named(name: str | None) -> Codec:
    """The codec of `MODULE:NAME`: an object there, or what a class or function there gives.

    Modules of the present folder are found, too. Raises `CommandError` for what is no such name.
    """
    if name is None:
        return ClosedCodec()
    module, _, attribute = name.partition(":")
    if not module or not attribute:
        raise _refused(name, "it is no MODULE:NAME")
    found = _found(name, module, attribute)
    # A class has its methods, too, and is none until it is called.
    made: Any = found() if callable(found) and shape_fault(found, _CODEC) else found
    if fault := shape_fault(made, _CODEC):
        raise _refused(name, f"it names {fault}")
    return cast("Codec", made)


def _found(name: str, module: str, attribute: str) -> Any:
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        return getattr(import_module(module), attribute)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise
        raise _refused(name, f"there is no module {module}") from None
    except AttributeError:
        raise _refused(name, f"{module} has no {attribute}") from None


def _refused(name: str, why: str) -> CommandError:
    return CommandError(f"--codec {name}: {why}", "--codec MODULE:NAME, such as --codec ours.keys:codec")
