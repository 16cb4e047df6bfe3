"""Every method of the port as a rule of a machine that compares a store with a model of one."""

from psych_runtime_contract.store.machine.example import Example, Judged
from psych_runtime_contract.store.machine.queries import QueriesMachine
from psych_runtime_contract.store.machine.values import ValuesMachine

__all__ = ["Example", "Judged", "StoreMachine", "ValuesMachine"]


class StoreMachine(QueriesMachine):
    """Calls on up to four Runs of three tenants, by three Workers, and queries of them."""
