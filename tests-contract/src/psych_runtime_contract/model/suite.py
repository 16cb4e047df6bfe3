"""What every rule of the suite stands on: a client under test, and a stub for it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any, ClassVar, cast

import pytest

from psych_runtime.model.askable import fault_of_client
from psych_runtime.model.clients import transports_of
from psych_runtime.testing.http_stub import Answer, HttpStub, Raw, Reply
from psych_runtime_contract.given import made_by, unfit
from psych_runtime_contract.model.playing import Played, patience_for, play, request
from psych_runtime_contract.model.wires import Wire, wire_named
from psych_runtime_core.ports.model import ModelClient

NEEDS_A_WIRE = pytest.mark.needs("wire")


class ModelSuite(ABC):
    """The choices of a subclass, and what they make."""

    wire: ClassVar[str | None] = None
    """`openai.chat`; None: no wire of this kit, and rules that need one are left out."""
    deviations: ClassVar[Mapping[str, str]] = {}
    """Rows or cases of the corpus that the client is known to break, each with the reason."""

    @abstractmethod
    def client(self, base_url: str) -> ModelClient:
        """A new client whose provider is at `base_url`, with the key `KEY` if it needs one.

        One without a wire answers any number of requests.
        """

    @pytest.fixture
    def anyio_backend(self) -> str:
        """The event loop there is."""
        return "asyncio"

    def spoken(self) -> Wire:
        """The wire, for rules that are marked as needing one."""
        assert self.wire is not None, 'a rule that asks for the wire says so: `@pytest.mark.needs("wire")`'
        return wire_named(self.wire)

    @asynccontextmanager
    async def serving(self, *answers: Answer) -> AsyncGenerator[tuple[HttpStub, ModelClient]]:
        """A stub that gives these answers in turn, and a client that asks it."""
        async with HttpStub() as stub:
            made = self.client_at(stub, *answers)
            try:
                yield stub, made
            finally:
                await close(made)

    def client_at(self, stub: HttpStub, *answers: Answer) -> ModelClient:
        """A client that asks this stub, which gives these answers in turn."""
        if self.wire is None:
            return self.given(stub.url)
        wire = wire_named(self.wire)
        if answers:
            stub.on("POST", wire.path, *answers)
        return self.given(stub.url + wire.base)

    def given(self, base_url: str) -> ModelClient:
        """What `client` gives: something that can be asked."""
        made = made_by(self, "client", base_url)
        if fault := fault_of_client(made):
            unfit(f"client() gives {fault}")
        return cast("ModelClient", made)

    async def played(self, reply: Reply | Raw) -> Played:
        """What a client makes of one reply."""
        async with self.serving(reply) as (_, client):
            return await play(client, request(), patience_for(reply))


async def close(client: ModelClient) -> None:
    """Close the transports by which a client and those behind it go out, and itself if it can be closed."""
    for holder in (*transports_of(client), client):
        aclose: Any = getattr(holder, "aclose", None)
        if aclose is not None:
            await aclose()
