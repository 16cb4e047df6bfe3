"""The suite that any blob store is judged by."""

from psych_runtime_contract.blob.base import BlobCaps
from psych_runtime_contract.blob.contract import BlobContract

__all__ = ["BlobCaps", "BlobContract"]
