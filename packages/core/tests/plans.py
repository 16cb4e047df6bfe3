"""Plans for the logs of tests, which name their Version `sha256:test`."""

from __future__ import annotations

from typing import Any

from psych_runtime.testing.log_builder import MODEL
from psych_runtime_core.engine.plan import Plan, Plans
from psych_runtime_core.ids import VersionHash
from psych_runtime_core.spec.agent import AgentSpec
from psych_runtime_core.spec.limits import Limits
from psych_runtime_core.spec.model import ModelRef
from psych_runtime_core.version import Version

HASH = VersionHash("sha256:test")


def plan(*fallbacks: str, input_schema: Any = None, output_schema: Any = None, **limits: int) -> Plan:
    """A plan of one agent; `limits` are the fields of its `Limits`."""
    spec = AgentSpec(
        name="clerk",
        instructions="You help.",
        model=ModelRef(model=MODEL, fallbacks=fallbacks),
        limits=Limits.model_validate(limits),
        input_schema=input_schema,
        output_schema=output_schema,
    )
    return Plan(Version.of(spec))


def plans(*fallbacks: str, input_schema: Any = None, output_schema: Any = None, **limits: int) -> Plans:
    return {HASH: plan(*fallbacks, input_schema=input_schema, output_schema=output_schema, **limits)}
