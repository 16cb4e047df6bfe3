"""The codec that seals nothing and the one to test with are codecs."""

from psych_runtime_contract.codec import CodecContract, SealingStandIn
from psych_runtime_core.records import PlainCodec


class TestPlainCodec(CodecContract[PlainCodec]):
    seals = False

    def codec(self) -> PlainCodec:
        return PlainCodec()

    async def destroy(self, codec: PlainCodec, tenant: str) -> None:
        raise AssertionError("it has no keys")


class TestSealingStandIn(CodecContract[SealingStandIn]):
    def codec(self) -> SealingStandIn:
        return SealingStandIn()

    async def destroy(self, codec: SealingStandIn, tenant: str) -> None:
        codec.destroy(tenant)
