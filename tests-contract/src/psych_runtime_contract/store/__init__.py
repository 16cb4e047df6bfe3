"""The suite that any store is judged by."""

from psych_runtime_contract.store.caps import Caps
from psych_runtime_contract.store.contract import StoreContract

__all__ = ["Caps", "StoreContract"]
