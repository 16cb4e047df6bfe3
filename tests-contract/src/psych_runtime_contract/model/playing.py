"""One call of a client, and all that can be seen of it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass, field

import anyio

from psych_runtime.model.assemble import Assembly
from psych_runtime.testing.assemble import numbered
from psych_runtime.testing.http_stub import Raw, Reply
from psych_runtime_contract.model.lapse import Silence, loop_time
from psych_runtime_core.ids import RunId
from psych_runtime_core.messages import AssistantMessage, Message, ModelSource, UserMessage
from psych_runtime_core.ports.model import (
    ModelCallContext,
    ModelClient,
    ModelRequest,
    StreamDone,
    StreamEvent,
)
from psych_runtime_core.scope import Scope

MODEL = "test-model"
ASK = UserMessage(content="Say hello.")
CONTEXT = ModelCallContext(
    scope=Scope(tenant="contract"), run_id=RunId("run_contract"), lane="main", agent="contract", turn=1
)
# Real seconds, which no call of this machine to itself needs; silences come on top.
PATIENCE = 30.0


class StillReading(AssertionError):
    """A call went on after its reply was over."""


@dataclass(slots=True)
class Played:
    """What a client made of a reply. `stopped`: its stream came to an end without an error."""

    events: list[StreamEvent] = field(default_factory=list[StreamEvent])
    message: AssistantMessage | None = None
    error: BaseException | None = None
    stopped: bool = False
    silence: float = 0.0

    @property
    def done(self) -> StreamDone | None:
        """The end, where there was one."""
        last = self.events[-1] if self.events else None
        return last if isinstance(last, StreamDone) else None


def request(*messages: Message) -> ModelRequest:
    """What is asked: to say hello, and whatever came after that."""
    return ModelRequest(model=MODEL, messages=(ASK, *messages))


async def play(client: ModelClient, asked: ModelRequest, patience: float = PATIENCE) -> Played:
    """Ask, read and assemble, as a Worker does: a message over its bounds ends the call."""
    played = Played()
    time = loop_time()
    before = time.ahead
    with anyio.move_on_after(patience) as bound:
        await _read(client, asked, played)
    if bound.cancelled_caught:
        played.error = StillReading(f"the client still reads after {patience:g} seconds")
    played.silence = time.ahead - before
    return played


async def _read(client: ModelClient, asked: ModelRequest, played: Played) -> None:
    assembly = Assembly(ModelSource(provider=client.provider, model=asked.model), numbered)
    try:
        async with aclosing(client.stream(asked, CONTEXT)) as stream:
            async for event in stream:
                played.events.append(event)
                assembly.feed(event)
        played.stopped = True
        played.message = assembly.finish().message
    except Exception as error:
        played.error = error


def patience_for(reply: Reply | Raw) -> float:
    """How long a reply may be read: its silences are long, though nobody waits for them."""
    pieces: Sequence[object] = reply.chunks
    return PATIENCE + sum(piece.seconds for piece in pieces if isinstance(piece, Silence))
