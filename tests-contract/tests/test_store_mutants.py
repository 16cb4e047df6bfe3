"""A wrong store fails the test that states its rule and none beside it, and falls to the machine alone."""

from __future__ import annotations

import re
from functools import cache

import pytest

from psych_runtime_contract.store import following
from psych_runtime_contract.store.judging import failure, sequence_failure
from psych_runtime_contract.store.machine import Example, StoreMachine, ValuesMachine
from psych_runtime_contract.store.mutants import KINDS, MUTANTS, Mutant
from psych_runtime_memory import InMemoryStore

EXAMPLES = 400
"""Sequences of calls in which a mutant is found at the latest."""
EVERY_ORDER = "test_no_order_of_calls_loses_a_wake"
"""It takes as long as all other rules of its kind together, and is asked of its own mutant alone."""


@cache
def kept_by_the_store(test: str) -> bool:
    """Whether the store behind the mutants passes a test."""
    return failure(lambda clock: InMemoryStore(clock=clock), test) is None


@pytest.mark.parametrize("mutant", [pytest.param(each, id=each.name) for each in MUTANTS])
def test_a_mutant_fails_the_test_that_states_its_rule(mutant: Mutant) -> None:
    assert kept_by_the_store(mutant.test)
    said = failure(mutant.open, mutant.test)
    assert said is not None
    assert re.search(mutant.words, said), said


@pytest.mark.parametrize(
    ("mutant", "kind"), [pytest.param(each, kind, id=each.name) for kind in KINDS for each in kind]
)
def test_a_mutant_keeps_the_other_rules_of_its_kind(
    mutant: Mutant, kind: tuple[Mutant, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Of the text that some mutants lose, whoever follows would wait for so long.
    monkeypatch.setattr(following, "PATIENCE_SECONDS", 2)
    others = {each.test for each in kind} - {mutant.test, EVERY_ORDER}
    assert {test for test in others if failure(mutant.open, test) is not None} == set(mutant.also)


@pytest.mark.parametrize("mutant", [pytest.param(each, id=each.name) for each in MUTANTS if each.machine])
def test_a_mutant_falls_to_the_machine_alone(mutant: Mutant) -> None:
    assert mutant.machine is not None
    assert sequence_failure(mutant.open, mutant.machine, EXAMPLES) is not None


@pytest.mark.parametrize("machine", [StoreMachine, ValuesMachine])
def test_the_store_behind_the_mutants_falls_to_no_machine(machine: type[Example]) -> None:
    assert sequence_failure(lambda clock: InMemoryStore(clock=clock), machine, 5) is None
