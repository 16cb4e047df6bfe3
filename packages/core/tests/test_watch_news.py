"""What a watch has heard and not told yet."""

from collections.abc import Callable, Collection, Mapping

import pytest

from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.watch import Hint, News

A, B = RunId("run_a"), RunId("run_b")
NOTHING = Hint()
Step = Callable[[News], object]


def hears(changed: Mapping[RunId, int], *, ready: bool = False, texts: Collection[RunId] = ()) -> Step:
    return lambda it: it.hear(changed, ready=ready, texts=texts)


def saw(run_id: RunId, seq: int) -> Step:
    return lambda it: it.saw(run_id, seq)


def follows(run_id: RunId) -> Step:
    return lambda it: it.follow(run_id)


def unfollows(run_id: RunId) -> Step:
    return lambda it: it.unfollow(run_id)


def news() -> News:
    return News([A, B], ready=True)


@pytest.mark.parametrize(
    ("steps", "hint"),
    [
        pytest.param([], NOTHING, id="nothing heard"),
        pytest.param([hears({A: 1})], Hint(runs=frozenset({A})), id="a log that grew"),
        pytest.param(
            [hears({A: 1}), hears({A: 2, B: 1}, ready=True)],
            Hint(ready=True, runs=frozenset({A, B})),
            id="merged",
        ),
        pytest.param([saw(A, 2), hears({A: 2})], NOTHING, id="what it saw"),
        pytest.param([saw(A, 2), hears({A: 3})], Hint(runs=frozenset({A})), id="further"),
        pytest.param(
            [saw(A, 5), saw(A, 2), hears({A: 4})],
            NOTHING,
            id="what it saw before it saw less",
        ),
        pytest.param([unfollows(A), hears({A: 1})], NOTHING, id="not followed"),
        pytest.param([hears({A: 1}), unfollows(A)], NOTHING, id="no longer"),
        pytest.param(
            [
                saw(A, 9),
                unfollows(A),
                saw(A, 9),
                follows(A),
                hears({A: 1}),
            ],
            Hint(runs=frozenset({A})),
            id="followed anew, it has seen nothing",
        ),
        pytest.param([hears({}, texts=[A])], Hint(runs=frozenset({A})), id="text that goes on"),
    ],
)
def test_what_was_heard_is_told_once(steps: list[Step], hint: Hint) -> None:
    it = news()
    for step in steps:
        step(it)
    assert bool(it) is bool(hint)
    assert it.take() == hint
    assert not it
    assert it.take() == NOTHING


def test_of_ready_work_hears_who_wants_to() -> None:
    it = News([A])
    assert not it.hear({}, ready=True)
    assert it.take() == NOTHING


def test_who_waits_is_woken_by_the_first_news_alone() -> None:
    it = news()
    heard = [it.hear({}), it.hear({RunId("other"): 1}), it.hear({A: 1}), it.hear({B: 1}, ready=True)]
    assert heard == [False, False, True, False]
    it.take()
    assert it.hear({}, ready=True), "and by the first after they were told"
    it.unfollow(A, B)
    assert it.take() == Hint(ready=True)
