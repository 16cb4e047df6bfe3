"""A heap from which any Run can be taken out, against a dict."""

from weakref import WeakSet

from hypothesis import given
from hypothesis import strategies as st

from psych_runtime_core.ids import RunId
from psych_runtime_memory.heap import Heap

RUN_IDS = st.integers(0, 5).map(lambda number: RunId(f"run_{number}"))
PUTS = st.tuples(RUN_IDS, st.integers(0, 3))


@given(st.lists(PUTS | RUN_IDS, max_size=400))
def test_the_first_is_the_smallest_that_is_in(calls: list[tuple[RunId, int] | RunId]) -> None:
    heap, held = Heap[int, RunId](), dict[RunId, int]()
    for call in calls:
        run_id = call[0] if isinstance(call, tuple) else call
        assert heap.take(run_id) is (held.pop(run_id, None) is not None)
        if isinstance(call, tuple):
            heap.put(*call)
            held[run_id] = call[1]
        assert len(heap) == len(held)
        assert set(heap) == set(held)
        assert heap.first() == min(((key, run_id) for run_id, key in held.items()), default=None)


class Key(float):
    """One that can be referred to weakly."""


def test_what_was_taken_out_does_not_pile_up() -> None:
    heap, alive = Heap[float, RunId](), WeakSet[Key]()
    heap.put(RunId("first"), 0)
    for number in range(1_000):
        key = Key(number + 1)
        alive.add(key)
        heap.put(RunId("moving"), key)
        heap.take(RunId("moving"))
    assert len(alive) < 100
    assert heap.first() == (0, "first")
