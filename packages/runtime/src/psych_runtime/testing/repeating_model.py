"""A model that says the same again when a call is repeated after a crash."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

from psych_runtime.testing.model_proxy import ModelProxy
from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.model import (
    ModelCallContext,
    ModelClient,
    ModelRequest,
    StreamEvent,
)


class RepeatingModel(ModelProxy):
    """Keeps each answer that came whole by its run, lane, turn and number of failures."""

    def __init__(self, model: ModelClient) -> None:
        super().__init__(model)
        self._answers: dict[tuple[RunId, str, int, int], tuple[StreamEvent, ...]] = {}

    async def stream(
        self, request: ModelRequest, context: ModelCallContext
    ) -> AsyncGenerator[StreamEvent, None]:
        place = (context.run_id, context.lane, context.turn, context.failures)
        if place in self._answers:
            for event in self._answers[place]:
                yield event
            return
        seen: list[StreamEvent] = []
        async with aclosing(self._model.stream(request, context)) as events:
            async for event in events:
                seen.append(event)
                yield event
        self._answers[place] = tuple(seen)
