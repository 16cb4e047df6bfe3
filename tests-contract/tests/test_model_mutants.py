"""A wrong client fails the suite, and by the rule that it breaks."""

from __future__ import annotations

import asyncio
import inspect
import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import aclosing
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import anyio.to_thread
import pytest

from psych_runtime.model.openai_compatible import OpenAICompatibleClient
from psych_runtime.testing.model_proxy import ModelProxy
from psych_runtime_contract.model import KEY, ModelClientContract
from psych_runtime_contract.model.corpus import CASES
from psych_runtime_core.errors import ModelError
from psych_runtime_core.messages import FinishReason
from psych_runtime_core.ports.model import (
    ModelCallContext,
    ModelClient,
    ModelRequest,
    StreamDone,
    StreamEvent,
    ToolCallDelta,
)

Events = AsyncGenerator[StreamEvent, None]


class Mutant(ModelProxy):
    """A good client behind a wrong one."""

    async def stream(self, request: ModelRequest, context: ModelCallContext) -> Events:
        async with (
            aclosing(self._model.stream(request, context)) as events,
            aclosing(self.wrong(events)) as made,
        ):
            async for event in made:
                yield event

    async def wrong(self, events: Any) -> Events:
        async for event in events:
            yield event


class MergesCalls(Mutant):
    async def wrong(self, events: Any) -> Events:
        async for event in events:
            if not isinstance(event, ToolCallDelta) or not event.index:
                yield event
            elif event.arguments_fragment:
                yield replace(event, index=0, name=None, id=None)


class LosesAnInBandError(Mutant):
    async def wrong(self, events: Any) -> Events:
        try:
            async for event in events:
                yield event
        except ModelError as error:
            if error.status is not None:
                raise
            yield StreamDone(FinishReason.STOP)


class LeaksARawException(Mutant):
    async def wrong(self, events: Any) -> Events:
        try:
            async for event in events:
                yield event
        except ModelError as error:
            raise KeyError("choices") from error


class ForgetsStreamDone(Mutant):
    async def wrong(self, events: Any) -> Events:
        async for event in events:
            if not isinstance(event, StreamDone):
                yield event


class KeepsTheSocketOpen(Mutant):
    """Somebody else goes on reading, whoever asked having left."""

    async def stream(self, request: ModelRequest, context: ModelCallContext) -> Events:
        read: asyncio.Queue[StreamEvent | BaseException | None] = asyncio.Queue()
        reading = asyncio.ensure_future(self._read_on(request, context, read))
        while (event := await read.get()) is not None:
            if isinstance(event, BaseException):
                raise event
            yield event
        await reading

    async def _read_on(
        self, request: ModelRequest, context: ModelCallContext, read: asyncio.Queue[Any]
    ) -> None:
        try:
            async for event in self._model.stream(request, context):
                read.put_nowait(event)
            read.put_nowait(None)
        except Exception as error:
            read.put_nowait(error)


class EarlyOnRetryAfter(Mutant):
    async def wrong(self, events: Any) -> Events:
        try:
            async for event in events:
                yield event
        except ModelError as error:
            if error.retry_after_seconds is not None:
                error.retry_after_seconds = max(error.retry_after_seconds - 1, 0)
            raise


MUTANTS = [
    pytest.param(MergesCalls, "test_calls_of_tools_are_numbered_and_named", r"calls: ", id="merges calls"),
    pytest.param(LosesAnInBandError, "E1", r"got no error", id="loses an in-band error"),
    pytest.param(LeaksARawException, "E1", r"law 4|tried once", id="leaks a raw exception"),
    pytest.param(ForgetsStreamDone, "B1", r"law 1", id="forgets the end"),
    pytest.param(
        KeepsTheSocketOpen,
        "test_a_closed_stream_closes_its_socket_within_a_second",
        r"still holds its socket|left behind",
        id="keeps the socket open",
    ),
    pytest.param(
        EarlyOnRetryAfter,
        "test_a_failed_call_is_tried_once_and_says_when_again",
        r"retry_after",
        id="is early on Retry-After",
    ),
]
# A case of each row is enough: what is wrong here is wrong everywhere.
ROWS = {case.row: case for case in CASES if case.cuts != "few"}


@pytest.mark.parametrize(("mutant", "rule", "words"), MUTANTS)
async def test_a_mutant_fails_its_rule_and_for_no_other_reason(
    mutant: type[Mutant], rule: str, words: str
) -> None:
    found = [failure async for failure in failures(suite_of(mutant))]
    assert rule in {name for name, _ in found}
    assert not [failure for failure in found if not re.search(words, failure[1])]


async def test_the_client_behind_the_mutants_fails_nothing() -> None:
    assert [failure async for failure in failures(suite_of(Mutant))] == []


async def test_a_reader_that_goes_on_alone_is_a_task_left_behind() -> None:
    with pytest.raises(AssertionError, match=r"left behind: .*KeepsTheSocketOpen\._read_on"):
        await suite_of(KeepsTheSocketOpen).test_whoever_leaves_early_leaves_no_task_behind()


# --- deviations ----------------------------------------------------------------------------------------


async def test_a_case_that_fails_as_foretold_is_expected() -> None:
    suite = suite_of(ForgetsStreamDone, {"B1": "it never ends"})
    with pytest.raises(pytest.xfail.Exception, match="it never ends"):
        await suite.test_a_reply_has_its_outcome_at_every_cut(ROWS["B1"])
    await suite.test_no_deviation_is_stale()


async def test_a_case_that_fails_without_being_named_says_where_and_how() -> None:
    suite = suite_of(ForgetsStreamDone, {"B2": "another row"})
    with pytest.raises(
        AssertionError, match=r"(?s)^B1\.\S.*, cut whole:\n  law 1: .*\n  an answer was expected"
    ):
        await suite.test_a_reply_has_its_outcome_at_every_cut(ROWS["B1"])


@pytest.mark.parametrize(
    ("name", "words"),
    [
        pytest.param("B2", "the deviation B2 is stale", id="a row that passes"),
        pytest.param("B1.lf", "the deviation B1.lf is stale", id="a case that passes"),
        pytest.param("Z9", "the deviation Z9 names no row", id="a row that is none"),
    ],
)
async def test_a_deviation_that_never_fails_is_stale(name: str, words: str) -> None:
    with pytest.raises(AssertionError, match=words):
        await suite_of(Mutant, {name: "it was so once"}).test_no_deviation_is_stale()


# --- a suite, run by hand ------------------------------------------------------------------------------


def suite_of(mutant: type[Mutant], foretold: Mapping[str, str] = MappingProxyType({})) -> ModelClientContract:
    """The suite, judging a mutant."""

    class Suite(ModelClientContract):
        wire = "openai.chat"
        deviations = foretold

        def client(self, base_url: str) -> ModelClient:
            return mutant(OpenAICompatibleClient(base_url=base_url, api_key=KEY))

    return Suite()


async def failures(suite: ModelClientContract) -> AsyncIterator[tuple[str, str]]:
    """Each rule and each row that a client fails, with the words."""
    for name, check in inspect.getmembers(suite, inspect.ismethod):
        wanted = inspect.signature(check).parameters
        if not name.startswith("test_") or "case" in wanted:
            continue
        for arguments in [{"events": 0}, {"events": 1}] if "events" in wanted else [{}]:
            if (said := await failure_of(check, arguments)) is not None:
                yield name, said
    for row, case in ROWS.items():
        if (said := await suite.failure(case, cut=False)) is not None:
            yield row, said


async def failure_of(check: Callable[..., Any], arguments: Mapping[str, int]) -> str | None:
    """What a rule says of a client that fails it; None of one that does not."""
    try:
        if inspect.iscoroutinefunction(check):
            await check(**arguments)
        else:
            await anyio.to_thread.run_sync(check)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None
