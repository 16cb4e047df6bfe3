"""How long an agent waits for people."""

from __future__ import annotations

from pydantic import Field

from psych_runtime_core.spec.base import SpecModel


class SuspensionPolicy(SpecModel):
    """When an open Wait expires, which ends its work: so no default is shorter than a weekend."""

    approval_expires_seconds: float = Field(default=604_800.0, gt=0, le=31_536_000)
