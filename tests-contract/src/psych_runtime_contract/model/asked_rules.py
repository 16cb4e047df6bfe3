"""What a client is asked for reaches its provider."""

from __future__ import annotations

from collections.abc import Iterator

from psych_runtime.testing.http_stub import HttpStub
from psych_runtime_contract.model.asking import ASKED, Asked
from psych_runtime_contract.model.cases import Outcome
from psych_runtime_contract.model.judging import broken_laws, differences
from psych_runtime_contract.model.playing import MODEL, Played, play
from psych_runtime_contract.model.suite import NEEDS_A_WIRE, ModelSuite
from psych_runtime_core.ports.model import ModelClient


class AskedRules(ModelSuite):
    """An answer to another question than was asked would look as good as any."""

    @NEEDS_A_WIRE
    async def test_what_is_asked_for_is_sent(self) -> None:
        """System message, tools, limits and the rest, each for itself; one in `deviations` is not."""
        wrong: list[str] = []
        wire = self.spoken()
        async with self.serving(wire.answer("Hello there")) as (stub, client):
            for asked in ASKED:
                fault = await self._unsent(asked, stub, client)
                if asked.id in self.deviations:
                    fault = None if fault else f"the deviation {asked.id} is stale: it passes; take it out"
                wrong += [f"{asked.id}: {fault}"] if fault else []
        assert not wrong, "\n".join(wrong)

    async def _unsent(self, asked: Asked, stub: HttpStub, client: ModelClient) -> str | None:
        before = len(stub.requests)
        played = await play(client, asked.request)
        bodies = [seen.json for seen in stub.requests[before:]]
        can = client.capabilities(MODEL)
        bound = can.bound(with_tools=False) if asked.name == "output_schema" else "schema"
        if bound == "none":
            return "; ".join(_unbound(played, len(bodies))) or None
        if broken := list(broken_laws(played)):
            return "; ".join(broken)
        if len(bodies) != 1 or played.message is None:
            return f"{len(bodies)} requests were sent, and it ended with {played.error!r}"
        told = self.spoken().told(bodies[0])
        # Where an answer is bound to be JSON and no more, the schema has no place.
        left_out = asked.may_be_left_out or bound == "json"
        if told.get(asked.name, asked.told if left_out else None) == asked.told:
            return None
        return f"expected {asked.told!r}, the request tells {told.get(asked.name)!r}"


def _unbound(played: Played, sent: int) -> Iterator[str]:
    """A client that can bind no answer says so, and no model is asked for one that fits by chance."""
    yield from broken_laws(played)
    yield from differences(Outcome(error="permanent", code="unsupported_output"), played)
    if sent:
        yield f"{sent} requests were sent"
