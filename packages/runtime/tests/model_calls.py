"""Calls of a model, for tests: requests, contexts, and what comes back."""

from __future__ import annotations

from contextlib import aclosing

from psych_runtime.model.assemble import Answer, Assembly
from psych_runtime.testing.fake_model import FakeModel
from psych_runtime_core.ids import RunId, derive_call_id
from psych_runtime_core.messages import ModelSource, UserMessage
from psych_runtime_core.ports.model import ModelCallContext, ModelRequest, StreamEvent
from psych_runtime_core.scope import Scope

SOURCE = ModelSource(provider="fake", model="fake-standard")


def request(model: str = "fake-standard", *, idle: float = 300.0) -> ModelRequest:
    return ModelRequest(model, (UserMessage(content="hello"),), idle_timeout_seconds=idle)


def context(
    run: str = "run_1",
    *,
    lane: str = "",
    agent: str = "helper",
    tenant: str = "acme",
    turn: int = 1,
    failures: int = 0,
) -> ModelCallContext:
    return ModelCallContext(Scope(tenant=tenant), RunId(run), lane, agent, turn, failures)


async def events(
    model: FakeModel, where: ModelCallContext | None = None, what: ModelRequest | None = None
) -> list[StreamEvent]:
    """Everything that one call streams."""
    async with aclosing(model.stream(what or request(), where or context())) as stream:
        return [event async for event in stream]


async def answer(
    model: FakeModel, where: ModelCallContext | None = None, what: ModelRequest | None = None
) -> Answer:
    """One call's whole answer."""
    return assembled(await events(model, where, what))


async def text(
    model: FakeModel, where: ModelCallContext | None = None, what: ModelRequest | None = None
) -> str:
    """The text of one call's answer."""
    return (await answer(model, where, what)).message.text


def assembled(stream: list[StreamEvent]) -> Answer:
    assembly = Assembly(SOURCE, lambda ordinal: derive_call_id(RunId("run_1"), "", 1, ordinal))
    for event in stream:
        assembly.feed(event)
    return assembly.finish()
