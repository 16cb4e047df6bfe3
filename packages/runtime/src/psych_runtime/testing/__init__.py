"""The testing kit. Every name loads when it is first used; none needs pytest or a network."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from psych_runtime.store_proxy import StoreProxy
    from psych_runtime.testing.auditor import Finding, audit
    from psych_runtime.testing.clock import FakeClock
    from psych_runtime.testing.conflicting_store import ConflictingStore
    from psych_runtime.testing.crash import CrashFailed, CrashReport, FailedPoint, crash_everywhere
    from psych_runtime.testing.fake_model import (
        FakeModel,
        FakeModelScriptExhausted,
        FakeTurn,
        LogMismatch,
        ReceivedCall,
        ToolCallScript,
    )
    from psych_runtime.testing.hollow_store import HollowStore
    from psych_runtime.testing.http_stub import HttpStub, Raw, Reply, SeenRequest, UnexpectedRequest
    from psych_runtime.testing.ledger import EffectLedger, Invocation
    from psych_runtime.testing.log_builder import LogBuilder
    from psych_runtime.testing.recording import (
        RecordingClient,
        RecordingMismatch,
        RecordingUnreadable,
        ReplayClient,
    )
    from psych_runtime.testing.scenario import (
        Act,
        Later,
        Scenario,
        ScenarioNotDeterministic,
        ScenarioStuck,
        approve_all,
        deny_all,
        say,
        stop,
    )
    from psych_runtime.testing.sigkill import sigkill_everywhere
    from psych_runtime.testing.switch import WorkerKilled
    from psych_runtime.testing.virtual import (
        RealIoInVirtualTime,
        VirtualClock,
        VirtualLoop,
        VirtualTimeStuck,
        run_virtual,
    )

__all__ = [
    "Act",
    "ConflictingStore",
    "CrashFailed",
    "CrashReport",
    "EffectLedger",
    "FailedPoint",
    "FakeClock",
    "FakeModel",
    "FakeModelScriptExhausted",
    "FakeTurn",
    "Finding",
    "HollowStore",
    "HttpStub",
    "Invocation",
    "Later",
    "LogBuilder",
    "LogMismatch",
    "Raw",
    "RealIoInVirtualTime",
    "ReceivedCall",
    "RecordingClient",
    "RecordingMismatch",
    "RecordingUnreadable",
    "ReplayClient",
    "Reply",
    "Scenario",
    "ScenarioNotDeterministic",
    "ScenarioStuck",
    "SeenRequest",
    "StoreProxy",
    "ToolCallScript",
    "UnexpectedRequest",
    "VirtualClock",
    "VirtualLoop",
    "VirtualTimeStuck",
    "WorkerKilled",
    "approve_all",
    "audit",
    "crash_everywhere",
    "deny_all",
    "run_virtual",
    "say",
    "sigkill_everywhere",
    "stop",
]

_MODULES = {
    # No part of the kit: it stands beside it.
    ".store_proxy": ("StoreProxy",),
    "auditor": ("Finding", "audit"),
    "clock": ("FakeClock",),
    "conflicting_store": ("ConflictingStore",),
    "crash": ("CrashFailed", "CrashReport", "FailedPoint", "crash_everywhere"),
    "fake_model": (
        "FakeModel",
        "FakeModelScriptExhausted",
        "FakeTurn",
        "LogMismatch",
        "ReceivedCall",
        "ToolCallScript",
    ),
    "hollow_store": ("HollowStore",),
    "http_stub": ("HttpStub", "Raw", "Reply", "SeenRequest", "UnexpectedRequest"),
    "ledger": ("EffectLedger", "Invocation"),
    "log_builder": ("LogBuilder",),
    "recording": ("RecordingClient", "RecordingMismatch", "RecordingUnreadable", "ReplayClient"),
    "scenario": (
        "Act",
        "Later",
        "Scenario",
        "ScenarioNotDeterministic",
        "ScenarioStuck",
        "approve_all",
        "deny_all",
        "say",
        "stop",
    ),
    "sigkill": ("sigkill_everywhere",),
    "switch": ("WorkerKilled",),
    "virtual": ("RealIoInVirtualTime", "VirtualClock", "VirtualLoop", "VirtualTimeStuck", "run_virtual"),
}
_HOME = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOME[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted(__all__)
