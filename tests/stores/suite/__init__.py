"""What every store does. A class for one store inherits `StoreSuite` and overrides `open_store`."""

from tests.stores.suite.base import OpenStore
from tests.stores.suite.changes import StoreChanges
from tests.stores.suite.claims import StoreClaim
from tests.stores.suite.commit import StoreCommit
from tests.stores.suite.header import StoreHeader
from tests.stores.suite.log import StoreLog
from tests.stores.suite.machine import StoreSequences
from tests.stores.suite.runs import StoreRuns

__all__ = ["OpenStore", "StoreSuite"]


class StoreSuite(StoreCommit, StoreLog, StoreRuns, StoreHeader, StoreClaim, StoreChanges, StoreSequences):
    """Everything, for one store."""
