"""What goes for good, what is taken of a person, and what is counted meanwhile."""

from psych_runtime_contract.store.counts import Counts
from psych_runtime_contract.store.erasures import Erasures
from psych_runtime_contract.store.purges import Purges
from psych_runtime_contract.store.rootless import Rootless


class StorePurge(Purges, Rootless, Erasures, Counts):
    """`purge`, `erase` and `stats`."""
