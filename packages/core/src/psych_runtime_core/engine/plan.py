"""What is static about a Version."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from psych_runtime_core.errors import VersionNotFound
from psych_runtime_core.ids import VersionHash
from psych_runtime_core.spec.agent import AgentSpec
from psych_runtime_core.spec.limits import Limits
from psych_runtime_core.version import Version


@dataclass(frozen=True, slots=True)
class Plan:
    """A Version, read once per process."""

    version: Version

    @property
    def hash(self) -> VersionHash:
        return self.version.hash

    @property
    def spec(self) -> AgentSpec:
        return self.version.spec

    @property
    def limits(self) -> Limits:
        return self.version.spec.limits

    @property
    def ring(self) -> tuple[str, ...]:
        """The models of a round, in the order they are called."""
        return self.version.spec.model.ring


Plans = Mapping[VersionHash, Plan]


def plan_of(plans: Plans, version_hash: VersionHash) -> Plan:
    """The plan of a Version. Raises `VersionNotFound` when it is not among `plans`."""
    plan = plans.get(version_hash)
    if plan is None:
        raise VersionNotFound(version_hash)
    return plan
