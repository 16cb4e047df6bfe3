"""The suite that any codec is judged by."""

from psych_runtime_contract.codec.contract import CodecContract
from psych_runtime_contract.codec.stand_in import SealingStandIn

__all__ = ["CodecContract", "SealingStandIn"]
