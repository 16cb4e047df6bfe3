"""The engine decides by its arguments alone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import psych_runtime_core
from packages.core.tests.answers_of_histories import answers
from packages.core.tests.logs import ready, settled
from packages.core.tests.plans import plans
from psych_runtime_core.engine.decide import next_effects

ROOT = Path(__file__).parents[3]
CORE = Path(psych_runtime_core.__file__).parent
# Every source of time and chance raises, from before the first question on.
PROGRAM = """
import os, random, secrets, sys, time, uuid
sys.path.insert(0, sys.argv[1])
from packages.core.tests.answers_of_histories import answers

def shut(*args, **kwargs):
    raise AssertionError("the engine looked beyond its arguments")

for name in ("time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "clock_gettime"):
    setattr(time, name, shut)
for name in ("random", "randrange", "getrandbits", "choice", "uniform"):
    setattr(random, name, shut)
for name in ("token_bytes", "token_hex", "choice"):
    setattr(secrets, name, shut)
os.urandom = uuid.uuid4 = uuid.uuid1 = shut
sys.stdout.write("\\n".join(answers()))
"""


@pytest.mark.parametrize("hash_seed", ["1", "2"])
def test_answers_are_the_same_where_time_and_chance_are_shut(hash_seed: str) -> None:
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    told = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(ROOT)],
        capture_output=True,
        text=True,
        check=True,
        env=environment,
    )
    here = [*answers()]
    assert told.stdout.split("\n") == here
    assert len(here) > 150


@pytest.mark.parametrize("folder", ["records", "state", "engine"])
def test_no_module_asks_a_datetime_for_the_moment(folder: str) -> None:
    for path in (CORE / folder).glob("*.py"):
        text = path.read_text()
        assert not [word for word in (".now(", ".utcnow(", ".today(", "fromtimestamp(") if word in text], path


def test_asking_changes_nothing() -> None:
    state = ready().enqueued().state()
    before, writes = state.dump(), state.undo.writes
    assert state.head_at is not None
    first = next_effects(plans(), state, state.head_at)
    assert next_effects(plans(), state, state.head_at) == first
    assert (state.dump(), state.undo.writes) == (before, writes)


def test_a_settled_run_has_no_effect() -> None:
    state = settled().state()
    assert state.head_at is not None
    assert next_effects({}, state, state.head_at) == ()
