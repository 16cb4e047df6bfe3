"""The suites of a store as one class: each brings all its tests along, and none hides another's."""

from collections import Counter

from psych_runtime_contract.store import StoreContract
from psych_runtime_contract.store.base import StoreBase


def test_no_suite_hides_what_another_has() -> None:
    suites = [suite for suite in StoreContract.__mro__ if issubclass(suite, StoreBase)]
    names = Counter(name for suite in suites for name in vars(suite) if not name.startswith("__"))
    assert {name for name, count in names.items() if count > 1 and name != "pytestmark"} == set()
