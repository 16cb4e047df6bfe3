"""The suite that any resolver of secrets is judged by."""

from psych_runtime_contract.secrets.contract import SecretContract

__all__ = ["SecretContract"]
