"""Idempotency keys of Runs that are gone: how long they answer, and what is left of them."""

import pickle
from datetime import timedelta
from typing import Any

import pytest

from psych_runtime.testing.clock import START
from psych_runtime_contract.store.scenes import OTHER_REQUEST, OTHER_RUN, RUN, admission
from psych_runtime_core.errors import IdempotencyConflict
from psych_runtime_core.ports.keys import KEY_SECONDS
from psych_runtime_core.ports.runs import RunHeader
from psych_runtime_memory.keys import Keys

LIFE, TICK = timedelta(seconds=KEY_SECONDS), timedelta(microseconds=1)


def header(run_id: str = RUN, key: str | None = "order", **also: Any) -> RunHeader:
    return admission(run_id, idempotency_key=key, **also).header


def test_a_dated_key_answers_until_its_very_microsecond() -> None:
    keys = Keys()
    keys.note(header(), START)
    keys.date(RUN, START)
    assert keys.judge(header(OTHER_RUN), START + LIFE - TICK) == RUN
    with pytest.raises(IdempotencyConflict):
        keys.judge(header(OTHER_RUN, request=OTHER_REQUEST), START + LIFE - TICK)
    assert keys.judge(header(OTHER_RUN), START + LIFE) is None


def test_a_key_whose_run_was_erased_answers_no_longer_when_that_is_purged_later() -> None:
    keys = Keys()
    keys.note(header(), START)
    keys.date(RUN, START)
    keys.date(RUN, START + LIFE / 2)
    assert keys.judge(header(OTHER_RUN), START + LIFE - TICK) == RUN
    assert keys.judge(header(OTHER_RUN), START + LIFE) is None


def test_nothing_that_is_kept_tells_of_a_key_or_of_its_request() -> None:
    keys = Keys()
    keys.note(header(key="ada@example.com"), START)
    kept = pickle.dumps(keys)
    assert RUN.encode() in kept
    assert b"ada@example.com" not in kept
    assert header().request not in kept


def test_each_admission_forgets_two_keys_whose_time_is_over() -> None:
    keys, later = Keys(), START + LIFE
    for number in range(5):
        keys.note(header(f"run_{number}", f"key_{number}"), START)
        keys.date(header(f"run_{number}").run_id, START)
    keys.note(header("newer", "newer"), START)
    left: list[int] = []
    for _ in range(4):
        keys.note(header("unnamed", None), later)
        left.append(len(keys))
    assert left == [4, 2, 1, 1]


def test_a_key_that_is_used_anew_when_its_time_is_over_is_not_forgotten_with_the_old() -> None:
    keys, later = Keys(), START + LIFE + TICK
    for run_id, key, at in (("a", "a", START), ("b", "b", START), (RUN, "order", START + TICK)):
        keys.note(header(run_id, key), at)
        keys.date(header(run_id).run_id, at)
    keys.note(header(OTHER_RUN), later)
    keys.note(header("unnamed", None), later)
    assert len(keys) == 1
    assert keys.judge(header("third"), later + 2 * LIFE) == OTHER_RUN


def test_a_run_of_the_same_id_with_another_key_has_both() -> None:
    keys = Keys()
    keys.note(header(RUN, "first"), START)
    keys.date(RUN, START)
    keys.note(header(RUN, "second"), START + TICK)
    assert keys.judge(header(OTHER_RUN, "first"), START + TICK) == RUN
    for _ in range(2):
        keys.note(header("unnamed", None), START + LIFE)
    keys.date(RUN, START + LIFE)
    assert keys.judge(header(OTHER_RUN, "second"), START + LIFE) == RUN


def test_a_run_without_a_key_leaves_nothing() -> None:
    keys = Keys()
    keys.note(header(key=None), START)
    keys.date(RUN, START)
    assert len(keys) == 0
