"""How a queue is counted, without walking it."""

from datetime import timedelta
from typing import Any

from psych_runtime.testing.clock import START
from psych_runtime_contract.store.scenes import admission
from psych_runtime_core.ids import RunId, WorkerId
from psych_runtime_core.ports.header import claimed
from psych_runtime_core.ports.reports import MOST_COUNTED, StoreStats
from psych_runtime_core.ports.runs import RunHeader
from psych_runtime_memory.queue import RunQueue
from psych_runtime_memory.stats import stats_of

LATER = START + timedelta(seconds=60)
HEADER = admission(ready_at=START).header


class Queue:
    """A queue and the headers that it reads."""

    def __init__(self) -> None:
        self.headers: dict[RunId, RunHeader] = {}
        self.queue = RunQueue(self.headers)

    def put(self, run_id: str, **also: Any) -> RunHeader:
        return self.keep(HEADER.model_copy(update={"run_id": RunId(run_id), **also}))

    def keep(self, header: RunHeader) -> RunHeader:
        before = self.headers.get(header.run_id)
        self.headers[header.run_id] = header
        self.queue.place(before, header, START)
        return header

    def lease(self, header: RunHeader, seconds: float) -> None:
        claim = claimed(header, WorkerId("worker"), START, seconds)
        assert claim
        self.keep(claim.header)

    def stats(self) -> StoreStats:
        return stats_of(self.queue, LATER, None, 5)


def test_each_open_run_is_counted_as_what_it_is_by_now() -> None:
    queue = Queue()
    queue.put("ready", ready_at=START - timedelta(seconds=5))
    queue.put("due", ready_at=START + timedelta(seconds=30))
    queue.put("due_though_parked", ready_at=START + timedelta(seconds=30), parked=True)
    queue.put("delayed", ready_at=LATER + timedelta(seconds=1))
    queue.put("asleep", ready_at=None, parked=True)
    queue.put("parked", ready_at=LATER + timedelta(seconds=1), parked=True)
    queue.lease(queue.put("running"), 90)
    queue.lease(queue.put("expired_long_ago"), -50)
    stats = queue.stats()
    assert (stats.ready, stats.suspended, stats.running, stats.expired_leases) == (3, 2, 2, 1)
    assert stats.oldest_ready_seconds == 65
    assert not stats.capped


def test_a_run_that_moves_is_counted_where_it_is_alone() -> None:
    queue = Queue()
    for _ in range(3):
        header = queue.put("run", ready_at=START)
        queue.lease(header, 30)
        queue.put("run", ready_at=None, parked=True)
    assert (queue.stats().ready, queue.stats().suspended) == (0, 1)
    assert dict(queue.queue.counts) == {("acme", "suspended", False): 1}


def test_a_count_ends_where_it_becomes_dear() -> None:
    queue = Queue()
    for number in range(MOST_COUNTED + 1):
        queue.put(f"run_{number}")
    assert (queue.stats().ready, queue.stats().capped) == (MOST_COUNTED, True)
    queue.lease(queue.headers[RunId("run_7")], 90)
    assert (queue.stats().ready, queue.stats().running, queue.stats().capped) == (MOST_COUNTED, 1, False)
