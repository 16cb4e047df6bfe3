"""The testing kit. Every name loads when it is first used; none needs pytest or a network."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from psych_runtime.testing.clock import FakeClock
    from psych_runtime.testing.fake_model import (
        FakeModel,
        FakeModelScriptExhausted,
        FakeTurn,
        ReceivedCall,
        ToolCallScript,
    )
    from psych_runtime.testing.log_builder import LogBuilder
    from psych_runtime.testing.virtual import (
        RealIoInVirtualTime,
        VirtualClock,
        VirtualLoop,
        VirtualTimeStuck,
        run_virtual,
    )

__all__ = [
    "FakeClock",
    "FakeModel",
    "FakeModelScriptExhausted",
    "FakeTurn",
    "LogBuilder",
    "RealIoInVirtualTime",
    "ReceivedCall",
    "ToolCallScript",
    "VirtualClock",
    "VirtualLoop",
    "VirtualTimeStuck",
    "run_virtual",
]

_MODULES = {
    "clock": ("FakeClock",),
    "fake_model": ("FakeModel", "FakeModelScriptExhausted", "FakeTurn", "ReceivedCall", "ToolCallScript"),
    "log_builder": ("LogBuilder",),
    "virtual": ("RealIoInVirtualTime", "VirtualClock", "VirtualLoop", "VirtualTimeStuck", "run_virtual"),
}
_HOME = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
