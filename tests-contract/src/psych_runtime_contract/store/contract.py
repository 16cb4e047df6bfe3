"""The suites of a store, as one."""

from psych_runtime_contract.store.changes import StoreChanges
from psych_runtime_contract.store.claims import StoreClaim
from psych_runtime_contract.store.commit import StoreCommit
from psych_runtime_contract.store.faults import StoreFaults
from psych_runtime_contract.store.kv import StoreKv
from psych_runtime_contract.store.live import StoreLive
from psych_runtime_contract.store.log import StoreLog
from psych_runtime_contract.store.purge import StorePurge
from psych_runtime_contract.store.runs import StoreRuns
from psych_runtime_contract.store.schedules import StoreSchedules
from psych_runtime_contract.store.sequences import StoreSequences
from psych_runtime_contract.store.transactions import StoreTransactions


class StoreContract(
    StoreCommit,
    StoreLog,
    StoreRuns,
    StoreClaim,
    StoreChanges,
    StoreLive,
    StoreKv,
    StorePurge,
    StoreTransactions,
    StoreFaults,
    StoreSchedules,
    StoreSequences,
):
    """Judges a store: subclass it as `Test…`, say its `caps`, and give a fixture `store`."""
