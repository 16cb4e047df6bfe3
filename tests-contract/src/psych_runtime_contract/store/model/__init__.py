"""The rules of a store once more, over plain dicts, to compare a store with."""

from psych_runtime_contract.store.model.runs import Refusal, StoreModel

__all__ = ["Refusal", "StoreModel"]
