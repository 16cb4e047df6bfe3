"""The suite that any egress policy is judged by."""

from psych_runtime_contract.egress.contract import EgressContract

__all__ = ["EgressContract"]
