"""The Runs that may be claimed now: by tenant, by Version, and in each by their place."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator, Mapping
from datetime import datetime
from itertools import chain

from psych_runtime_core.ids import RunId, VersionHash
from psych_runtime_core.ports.runs import RunHeader
from psych_runtime_memory.heap import Heap

Place = tuple[int, datetime]
"""A Run's place in its tenant: higher priorities first, then who became ready earlier."""


class ReadyRuns:
    """Which Run of a tenant is next. It reads `headers` and never changes them."""

    def __init__(self, headers: Mapping[RunId, RunHeader]) -> None:
        self._headers = headers
        self._tenants: dict[str, dict[VersionHash, Heap[Place, RunId]]] = {}
        self._names: list[str] = []

    def put(self, header: RunHeader, ready_at: datetime) -> None:
        """Put in a Run that is not in."""
        tenant = header.scope.tenant
        if tenant not in self._tenants:
            self._tenants[tenant] = {}
            insort(self._names, tenant)
        heap = self._tenants[tenant].setdefault(header.version_hash, Heap())
        heap.put(header.run_id, (-header.priority, ready_at))

    def take(self, header: RunHeader) -> bool:
        """Take a Run out; whether it was in."""
        tenant = header.scope.tenant
        versions = self._tenants.get(tenant, {})
        heap = versions.get(header.version_hash)
        if heap is None or not heap.take(header.run_id):
            return False
        if not heap:
            del versions[header.version_hash]
        if not versions:
            del self._tenants[tenant]
            del self._names[bisect_left(self._names, tenant)]
        return True

    def first(self, tenant: str, skipped: frozenset[VersionHash]) -> RunHeader | None:
        """The next Run of a tenant that is of none of these Versions."""
        versions = self._tenants.get(tenant, {})
        firsts = [first for version in versions.keys() - skipped if (first := versions[version].first())]
        return self._headers[min(firsts)[1]] if firsts else None

    def turns(self, after: str, tenants: frozenset[str] | None) -> Iterator[str]:
        """Each of these tenants that has ready Runs, once, in a round that begins behind `after`.

        Nothing may be put in or taken out before it is read.
        """
        names = self._names if tenants is None else sorted(tenants.intersection(self._tenants))
        start = bisect_right(names, after)
        return (names[index] for index in chain(range(start, len(names)), range(start)))

    def behind(self, now: datetime) -> list[tuple[RunHeader, datetime]]:
        """The Runs whose `ready_at` is later than `now`, with it."""
        headers = [header for tenant in self._names for header in self.of(tenant)]
        return [(each, each.ready_at) for each in headers if each.ready_at and each.ready_at > now]

    def of(self, tenant: str) -> Iterator[RunHeader]:
        """All of a tenant, in no order."""
        for heap in self._tenants.get(tenant, {}).values():
            yield from map(self._headers.__getitem__, heap)

    def has(self, tenant: str) -> bool:
        return tenant in self._tenants
