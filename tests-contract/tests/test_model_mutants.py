"""A wrong client fails the suite, and by the rule that it breaks."""

from __future__ import annotations

import asyncio
import inspect
import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import aclosing
from dataclasses import replace
from types import MappingProxyType
from typing import Any, ClassVar

import anyio.to_thread
import pytest

from psych_runtime.model.openai_compatible import OpenAICompatibleClient
from psych_runtime.testing.model_proxy import ModelProxy
from psych_runtime_contract.model import KEY, ModelClientContract
from psych_runtime_contract.model.corpus import CASES
from psych_runtime_core.errors import ModelError, ModelErrorKind
from psych_runtime_core.messages import FinishReason, SystemMessage
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


class AsksAgain(Mutant):
    """By itself, when the connection broke before anything came."""

    async def stream(self, request: ModelRequest, context: ModelCallContext) -> Events:
        for tries in range(2):
            heard = False
            try:
                async with aclosing(self._model.stream(request, context)) as events:
                    async for event in events:
                        heard = True
                        yield event
                return
            except ModelError as error:
                if tries or heard or error.status is not None:
                    raise


class TakesACancellationForAnError(Mutant):
    async def wrong(self, events: Any) -> Events:
        try:
            async for event in events:
                yield event
        except asyncio.CancelledError:
            raise ModelError(ModelErrorKind.TRANSIENT, "cancelled") from None


class AsksForLess(Mutant):
    """The request goes on without some of its fields."""

    left_out: ClassVar[Mapping[str, Any]] = MappingProxyType({})

    async def stream(self, request: ModelRequest, context: ModelCallContext) -> Events:
        less = replace(request, **self.left_out)
        async with aclosing(self._model.stream(less, context)) as events:
            async for event in events:
                yield event


class DropsTheSystemMessage(AsksForLess):
    async def stream(self, request: ModelRequest, context: ModelCallContext) -> Events:
        spoken = tuple(each for each in request.messages if not isinstance(each, SystemMessage))
        async with aclosing(super().stream(replace(request, messages=spoken), context)) as events:
            async for event in events:
                yield event


def without(name: str, value: Any = None) -> type[AsksForLess]:
    """A client that never sends what has this name."""
    return type("DropsIt", (AsksForLess,), {"left_out": {name: value}})


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


@pytest.mark.parametrize("row", ["D12", "H1"])
async def test_a_client_that_asks_again_by_itself_is_found_by_whatever_broke(row: str) -> None:
    suite = suite_of(AsksAgain)
    found = [await suite.failure(case, cut=False) for case in CASES if case.row == row]
    assert [each for each in found if each and "law 6: one call asked 2 times" in each]


@pytest.mark.parametrize("events", [0, 1])
async def test_a_cancellation_that_is_taken_for_an_error_is_found(events: int) -> None:
    suite = suite_of(TakesACancellationForAnError)
    with pytest.raises(AssertionError, match="cancelled, it ended with ModelError"):
        await suite.test_a_cancelled_call_closes_its_socket_within_a_second(events)


DROPPED = [
    pytest.param(DropsTheSystemMessage, "system", id="the system message"),
    pytest.param(without("tools", ()), "tools", id="tools"),
    pytest.param(without("tool_choice", "auto"), "tool_choice", id="which tool"),
    pytest.param(without("parallel_tool_calls", True), "parallel_tool_calls", id="one tool at a time"),
    pytest.param(without("output_schema"), "output_schema", id="a schema"),
    pytest.param(without("temperature"), "temperature", id="a temperature"),
    pytest.param(without("top_p"), "top_p", id="a share"),
    pytest.param(without("max_output_tokens"), "max_output_tokens", id="a limit"),
    pytest.param(without("reasoning_effort"), "reasoning_effort", id="an effort"),
    pytest.param(without("stop", ()), "stop", id="what ends an answer"),
    pytest.param(without("options", {}), "options", id="options"),
]


@pytest.mark.parametrize(("mutant", "name"), DROPPED)
async def test_a_client_that_asks_for_less_is_found_by_what_it_leaves_out(
    mutant: type[Mutant], name: str
) -> None:
    with pytest.raises(AssertionError, match=rf"^Q\.{name}: "):
        await suite_of(mutant, dialect="openai").test_what_is_asked_for_is_sent()


async def test_what_a_provider_cannot_be_told_is_a_deviation_that_may_be_stale() -> None:
    why = {"Q.stop": "no text ends an answer there"}
    suite = suite_of(without("stop", ()), why)
    suite.test_each_deviation_is_of_the_wire_and_says_why()
    await suite.test_what_is_asked_for_is_sent()
    with pytest.raises(AssertionError, match=r"^Q\.stop: the deviation Q\.stop is stale: it passes"):
        await suite_of(Mutant, why).test_what_is_asked_for_is_sent()


@pytest.mark.parametrize("dialect", ["openai", "deepseek", "mistral", "gemini"])
async def test_our_client_sends_what_is_asked_for_to_any_provider(dialect: str) -> None:
    await suite_of(Mutant, dialect=dialect).test_what_is_asked_for_is_sent()


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
    ],
)
async def test_a_deviation_that_never_fails_is_stale(name: str, words: str) -> None:
    with pytest.raises(AssertionError, match=words):
        await suite_of(Mutant, {name: "it was so once"}).test_no_deviation_is_stale()


@pytest.mark.parametrize(
    ("wire", "foretold", "words"),
    [
        pytest.param("openai.chat", {"Z9": "why"}, "the deviation Z9 names no row", id="a row that is none"),
        pytest.param("openai.chat", {"B1": " "}, "the deviation B1 has no reason", id="no reason"),
        pytest.param(None, {"B1": "why"}, "names B1, and without a wire", id="no wire"),
    ],
)
def test_a_deviation_that_says_nothing_is_told(
    wire: str | None, foretold: dict[str, str], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    suite = suite_of(Mutant, foretold)
    monkeypatch.setattr(type(suite), "wire", wire)
    with pytest.raises(pytest.fail.Exception, match=words):
        suite.test_each_deviation_is_of_the_wire_and_says_why()


class Awaited(Mutant):
    async def stream(self, request: ModelRequest, context: ModelCallContext) -> Any:  # type: ignore[override]  # the mistake
        raise AssertionError(request, context)


class GivenLater(ModelClientContract):
    async def client(self, base_url: str) -> ModelClient:  # type: ignore[override]  # the mistake
        raise AssertionError(base_url)


class GivenNothing(ModelClientContract):
    def client(self, base_url: str) -> Any:
        return None


class GivenAClass(ModelClientContract):
    def client(self, base_url: str) -> Any:
        return OpenAICompatibleClient


@pytest.mark.parametrize(
    ("suite", "words"),
    [
        pytest.param(GivenNothing(), "client() gives a NoneType without stream, provider, ", id="nothing"),
        pytest.param(GivenAClass(), "gives the class OpenAICompatibleClient itself", id="a class"),
        pytest.param(GivenLater(), "client() is async, and nobody awaits it", id="a coroutine"),
    ],
)
async def test_a_client_that_cannot_be_asked_is_told_in_one_line(
    suite: ModelClientContract, words: str
) -> None:
    with pytest.raises(pytest.fail.Exception, match=re.escape(words)) as failed:
        await suite.test_an_answer_ends_once_and_its_deltas_keep_the_laws()
    assert not failed.value.pytrace


async def test_a_stream_that_is_awaited_is_told_before_it_is_asked() -> None:
    with pytest.raises(pytest.fail.Exception, match="a Awaited whose stream gives a coroutine"):
        await suite_of(Awaited).test_known_models_are_names_or_nothing()


# --- a suite, run by hand ------------------------------------------------------------------------------


def suite_of(
    mutant: type[Mutant],
    foretold: Mapping[str, str] = MappingProxyType({}),
    *,
    dialect: str | None = None,
) -> ModelClientContract:
    """The suite, judging a mutant."""

    class Suite(ModelClientContract):
        wire = "openai.chat"
        deviations = foretold

        def client(self, base_url: str) -> ModelClient:
            return mutant(OpenAICompatibleClient(base_url=base_url, api_key=KEY, dialect=dialect))

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
