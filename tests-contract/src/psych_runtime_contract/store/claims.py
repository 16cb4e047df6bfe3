"""Claims: who gets which Run, for how long, and what the header says after."""

from psych_runtime_contract.store.header import ClaimTable
from psych_runtime_contract.store.leases import ClaimLeases
from psych_runtime_contract.store.limits import ClaimLimits
from psych_runtime_contract.store.races import ClaimRaces
from psych_runtime_contract.store.requests import ClaimRequests
from psych_runtime_contract.store.turns import ClaimOrder


class StoreClaim(ClaimRaces, ClaimOrder, ClaimLimits, ClaimRequests, ClaimLeases, ClaimTable):
    """Claims, leases, and the header's transitions."""
