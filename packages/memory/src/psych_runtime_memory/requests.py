"""Which claims were taken under which request, so that asking again gives them again."""

from __future__ import annotations

from dataclasses import replace

from psych_runtime_core.ids import RunId, WorkerId
from psych_runtime_core.ports.claims import Claim, ClaimRequest
from psych_runtime_core.ports.runs import RunHeader

Request = tuple[WorkerId, str]


class ClaimRequests:
    """The claims under each request of a Worker whose leases were not given back or taken over."""

    def __init__(self) -> None:
        self._claims: dict[Request, dict[RunId, Claim]] = {}
        self._requests: dict[RunId, Request] = {}

    def note(self, asked: ClaimRequest, claim: Claim) -> None:
        """A claim was taken; remember the request, if it has an id."""
        if asked.request_id is not None:
            request, run_id = (asked.worker_id, asked.request_id), claim.header.run_id
            self._claims.setdefault(request, {})[run_id] = claim
            self._requests[run_id] = request

    def held(self, asked: ClaimRequest) -> tuple[Claim, ...]:
        """The claims of an earlier asking, with headers and leases as they stand."""
        if asked.request_id is None:
            return ()
        return tuple(self._claims.get((asked.worker_id, asked.request_id), {}).values())

    def follow(self, header: RunHeader) -> None:
        """A header has changed, and with it maybe the lease."""
        request = self._requests.get(header.run_id)
        if request is None:
            return
        claims = self._claims[request]
        claim, lease = claims[header.run_id], header.lease
        if lease is not None and lease.epoch == claim.lease.epoch:
            claims[header.run_id] = replace(claim, header=header, lease=lease)
            return
        del claims[header.run_id], self._requests[header.run_id]
        if not claims:
            del self._claims[request]
