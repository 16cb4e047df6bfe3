"""What holds for a codec, whoever wrote it."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from typing import ClassVar, Generic, TypeVar

import pytest

from psych_runtime_core.ports.checks import SEAL_BYTES
from psych_runtime_core.records import Codec
from psych_runtime_core.scope import Scope

C = TypeVar("C", bound=Codec)

ACME, GLOBEX = Scope(tenant="acme"), Scope(tenant="globex")
ADA = Scope(tenant="acme", principal="ada", labels={"team": "support"})
BOUND = b'{"seq":7,"type":"message"}'
PLAIN = b'{"text":"hello"}'
CONTENTS = [
    pytest.param(b"{}", id="an empty document"),
    pytest.param(PLAIN, id="a document"),
    pytest.param('{"text":"é漢\N{GRINNING FACE}\\u0000"}'.encode(), id="any text"),
    pytest.param(b'{"text":"' + b"x" * 4_000_000 + b'"}', id="4 MB"),
    pytest.param(b"", id="nothing"),
    pytest.param(bytes(range(256)), id="every byte"),
    pytest.param(b"\xff" * 65_536, id="a frame of a blob"),
]
SECRET = b'{"text":"the words of a person, and nobody else"}'


@pytest.mark.anyio
class CodecContract(ABC, Generic[C]):
    """The suite: subclass it as `Test…`, make a codec, and say how a tenant's key is destroyed.

    `seals=False` is for a codec that leaves content as it is.
    """

    seals: ClassVar[bool] = True

    @pytest.fixture
    def anyio_backend(self) -> str:
        """The event loop there is."""
        return "asyncio"

    @abstractmethod
    def codec(self) -> C:
        """A codec that has a key for every tenant, or makes one."""

    @abstractmethod
    async def destroy(self, codec: C, tenant: str) -> None:
        """Destroy the key of a tenant for good."""

    async def prepared(self) -> C:
        """A codec that may be used for `ACME` and `GLOBEX`."""
        codec = self.codec()
        for scope in (ACME, GLOBEX):
            await codec.prepare(scope)
        return codec

    # --- there and back ----------------------------------------------------------------------------------

    async def test_it_has_a_name(self) -> None:
        assert self.codec().name

    @pytest.mark.parametrize("content", CONTENTS)
    async def test_content_comes_back_byte_for_byte(self, content: bytes) -> None:
        codec = await self.prepared()
        sealed = codec.seal(content, scope=ACME, bound=BOUND)
        assert codec.open(sealed, scope=ACME, bound=BOUND) == content
        assert codec.open(sealed, scope=ACME, bound=BOUND) == content

    @pytest.mark.parametrize("bound", [b"", b"\x00", b"x" * 100_000], ids=["to nothing", "NUL", "long"])
    async def test_a_seal_may_be_tied_to_anything(self, bound: bytes) -> None:
        codec = await self.prepared()
        sealed = codec.seal(PLAIN, scope=ACME, bound=bound)
        assert codec.open(sealed, scope=ACME, bound=bound) == PLAIN

    async def test_a_seal_is_opened_for_whoever_acts_in_the_tenant(self) -> None:
        codec = await self.prepared()
        await codec.prepare(ADA)
        sealed = codec.seal(PLAIN, scope=ADA, bound=BOUND)
        assert codec.open(sealed, scope=ACME, bound=BOUND) == PLAIN

    async def test_content_that_was_never_sealed_opens(self) -> None:
        codec = await self.prepared()
        for plain in (PLAIN, b"{}", b"{"):
            assert codec.open(plain, scope=ACME, bound=BOUND) == plain

    async def test_preparing_again_or_at_once_changes_nothing(self) -> None:
        codec = await self.prepared()
        sealed = codec.seal(PLAIN, scope=ACME, bound=BOUND)
        await asyncio.gather(*(codec.prepare(scope) for scope in (ACME, ADA, GLOBEX) * 5))
        assert codec.open(sealed, scope=ACME, bound=BOUND) == PLAIN

    async def test_what_a_seal_adds_is_bounded(self) -> None:
        codec = await self.prepared()
        for size in (0, 1, 65_536, 4_000_000):
            assert len(codec.seal(bytes(size), scope=ACME, bound=BOUND)) <= size + SEAL_BYTES

    # --- sealed ------------------------------------------------------------------------------------------

    @pytest.mark.needs("seals")
    async def test_a_seal_hides_what_it_holds(self) -> None:
        codec = await self.prepared()
        sealed = codec.seal(SECRET, scope=ACME, bound=BOUND)
        assert not sealed.startswith(b"{"), "it would be taken for plain content"
        for start in range(len(SECRET) - 8):
            assert SECRET[start : start + 8] not in sealed

    @pytest.mark.needs("seals")
    async def test_a_seal_is_tied_to_its_place_and_its_tenant(self) -> None:
        codec = await self.prepared()
        sealed = codec.seal(PLAIN, scope=ACME, bound=BOUND)
        for scope, bound in ((ACME, b'{"seq":8,"type":"message"}'), (ACME, b""), (GLOBEX, BOUND)):
            with pytest.raises(ValueError):
                codec.open(sealed, scope=scope, bound=bound)

    @pytest.mark.needs("seals")
    async def test_what_is_tied_is_not_taken_for_content(self) -> None:
        codec = await self.prepared()
        sealed = codec.seal(b"bc", scope=ACME, bound=b"a")
        with pytest.raises(ValueError):
            codec.open(sealed, scope=ACME, bound=b"ab")

    @pytest.mark.needs("seals")
    async def test_every_changed_byte_is_found(self) -> None:
        codec = await self.prepared()
        sealed = codec.seal(PLAIN, scope=ACME, bound=BOUND)
        for at in range(len(sealed)):
            changed = sealed[:at] + bytes([sealed[at] ^ 1]) + sealed[at + 1 :]
            if not changed.startswith(b"{"):
                with pytest.raises(ValueError):
                    codec.open(changed, scope=ACME, bound=BOUND)

    @pytest.mark.needs("seals")
    async def test_what_was_cut_or_grew_is_found(self) -> None:
        codec = await self.prepared()
        sealed = codec.seal(PLAIN, scope=ACME, bound=BOUND)
        for changed in (*[sealed[:end] for end in range(1, len(sealed))], sealed + b"\x00"):
            with pytest.raises(ValueError):
                codec.open(changed, scope=ACME, bound=BOUND)

    # --- destroyed ---------------------------------------------------------------------------------------

    @pytest.mark.needs("seals")
    async def test_what_was_sealed_with_a_key_that_is_destroyed_is_none(self) -> None:
        codec = await self.prepared()
        sealed = [codec.seal(content, scope=ACME, bound=BOUND) for content in (PLAIN, b"", b"x" * 65_536)]
        theirs = codec.seal(PLAIN, scope=GLOBEX, bound=BOUND)
        await self.destroy(codec, "acme")
        await codec.prepare(ACME)
        assert [codec.open(each, scope=ACME, bound=BOUND) for each in sealed] == [None] * 3
        assert codec.open(theirs, scope=GLOBEX, bound=BOUND) == PLAIN
