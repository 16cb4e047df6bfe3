"""What the Attempts of one Worker share."""

from __future__ import annotations

from dataclasses import dataclass

from psych_runtime.attempt.orders import Orders
from psych_runtime.attempt.versions import Versions
from psych_runtime.runtime import Runtime


@dataclass(frozen=True, slots=True)
class Terms:
    """How a Worker drives: seconds to end in, seconds to wait in place, and crashes until it gives up."""

    grace_seconds: float
    linger_seconds: float
    max_crashes: int


@dataclass(frozen=True, slots=True)
class Shared:
    """The ports, the Versions, the terms, and what the Worker wants now."""

    runtime: Runtime
    versions: Versions
    terms: Terms
    orders: Orders
