"""What a request carries on to those that it leads to, whoever follows: the seam, or a client around it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from weakref import ref

import anyio
import httpx2

from psych_runtime.egress.redirects import Journey
from psych_runtime_core.ports.egress import EgressRequest

# Clients hand the extensions of a request on to the one that a redirect leads to.
_TRAIL = "psych_runtime.egress.trail"


@dataclass(frozen=True, slots=True)
class Trail:
    """How a request came here, and when the whole of it has to be done, by the clock of the loop."""

    journey: Journey
    deadline: float
    request: ref[httpx2.Request] | None = None

    @classmethod
    def before(cls, request: httpx2.Request, total: float | None) -> Trail:
        """How a request came here. One that is sent again, as flows of auth do, comes as it came before."""
        trail = request.extensions.get(_TRAIL)
        if not isinstance(trail, cls):
            return cls(Journey(), math.inf if total is None else anyio.current_time() + total)
        again = trail.request is not None and trail.request() is request
        return replace(trail, journey=Journey(trail.journey.steps[:-1])) if again else trail

    def on_to(self, asked: EgressRequest, request: httpx2.Request) -> Trail:
        trail = replace(self, journey=self.journey.on_to(asked), request=ref(request))
        request.extensions[_TRAIL] = trail
        return trail
