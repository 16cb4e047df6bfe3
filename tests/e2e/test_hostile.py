"""What a model says and a tool gives may be anything: no log is corrupt of it, no Run dies of it."""

import asyncio
import math
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any

import pytest

from psych_runtime import Store, ToolRegistry, records, send, thread
from psych_runtime.testing import EffectLedger, FakeModel, FakeTurn, ToolCallScript
from psych_runtime_core.jsonvalue import encode_json
from psych_runtime_core.messages import ToolResultMessage, UserMessage
from psych_runtime_core.ports.model import ModelCapabilities
from psych_runtime_core.records.facts import ToolOutcome
from psych_runtime_core.records.run import RunAdmitted
from psych_runtime_core.records.tool import ToolCallFinished
from psych_runtime_core.records.turn import ModelCallFailed, ModelCallFinished
from psych_runtime_core.spec.limits import Limits
from tests.e2e.kept_results import WithoutBlobs
from tests.e2e.stage import agent, at_work, begun, ended, only, registered, results

SPEC = agent("give")


def giving(make: Callable[[], Any]) -> ToolRegistry:
    """A tool that gives what `make` does, or raises it."""
    registry = ToolRegistry()

    @registry.register
    async def give() -> Any:
        """Give something."""
        return make()

    return registry


def raising(error: Callable[[], BaseException]) -> Callable[[], Any]:
    def make() -> Any:
        raise error()

    return make


def cycle() -> list[Any]:
    found: list[Any] = []
    found.append(found)
    return found


def nested(depth: int) -> list[Any]:
    found: list[Any] = []
    for _ in range(depth):
        found = [found]
    return found


class Unspeakable:
    def __repr__(self) -> str:
        raise SystemExit("no")

    __str__ = __repr__


class Unspeakables(Exception):
    def __str__(self) -> str:
        raise KeyboardInterrupt("no")


async def given(store: Store, make: Callable[[], Any], **runtime: Any) -> tuple[ToolCallFinished, str]:
    """The record of a call that gives it, and what the model was told; the Run completes all the same."""
    model, ledger = FakeModel().turn(tool_calls=[("give", {})]).turn("Done."), EffectLedger()
    async with at_work(store, model, ledger.wrap(giving(make)), runtime=runtime):
        run_id = await begun(store, SPEC)
        state = await ended(store, run_id, ledger)
    assert state.terminal_state == "completed"
    assert len(ledger.invocations) == 1
    (end,) = await results(store, run_id)
    (told,) = [each.text for each in model.last_request.messages if isinstance(each, ToolResultMessage)]
    told.encode()
    return end, told


KEPT = {
    "NUL": "a\0b",
    "a lone surrogate": "\ud800 alone \udfff",
    "surrogate keys": {"\ud800": "\udc00"},
    "two to the eightieth": 2**80,
    "an integer of many digits": -(10**400),
    "the smallest float": 5e-324,
    "a float that is whole": 1e16,
    "null": None,
    "nothing": "",
    "a text like JSON": '{"v": 1}\n',
    "a line separator": "\u2028\u2029\x85\r\n",
    "every control character": "".join(map(chr, range(32))),
    "emoji": "👩‍👩‍👧‍👦" * 100,
    "deep but not too deep": nested(100),
    "a quarter of a megabyte": "x" * 250_000,
}


@pytest.mark.parametrize("value", KEPT.values(), ids=KEPT.keys())
async def test_a_result_is_kept_as_it_is(store: Store, value: Any) -> None:
    end, _ = await given(store, lambda: value)
    assert end.outcome is ToolOutcome.OK
    assert end.result == value
    assert type(end.result) is not float or math.isfinite(end.result)


REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "NaN": (lambda: math.nan, "result_not_serialisable"),
    "infinity, below": (lambda: {"a": [math.inf]}, "result_not_serialisable"),
    "bytes within": (lambda: {"a": b"\x00\xff"}, "result_not_serialisable"),
    "a cycle": (cycle, "result_not_serialisable"),
    "a nest without end": (lambda: nested(100_000), "result_not_serialisable"),
    "an object": (object, "result_not_serialisable"),
    "an object that cannot be shown": (Unspeakable, "result_not_serialisable"),
    "a generator": (lambda: iter([1]), "result_not_serialisable"),
    "a key of bytes": (lambda: {b"a": 1}, "result_not_serialisable"),
    "one megabyte": (lambda: "x" * 1_000_000, "blob_store_required"),
    "twenty megabytes": (lambda: "y" * 20_000_000, "blob_store_required"),
    "seventy megabytes": (lambda: "z" * 70_000_000, "result_too_large"),
}


@pytest.mark.parametrize(("make", "kind"), REFUSED.values(), ids=REFUSED.keys())
async def test_a_result_that_cannot_be_kept_is_an_error_of_its_call(
    store: Store, make: Callable[[], Any], kind: str
) -> None:
    end, told = await given(WithoutBlobs(store), make)
    assert end.outcome is ToolOutcome.ERROR
    assert end.failure is not None
    assert end.failure.kind == kind
    assert "did run" in told
    assert end.result is None


@pytest.mark.parametrize(
    ("size", "is_away"), [(299_000, False), (1_000_000, True), (4_000_000, True), (20_000_000, True)]
)
async def test_a_result_of_any_size_is_kept_where_there_are_blobs(
    store: Store, size: int, is_away: bool
) -> None:
    end, told = await given(store, lambda: "x" * size)
    assert end.outcome is ToolOutcome.OK
    assert (end.result_blob_key is not None) is is_away
    assert end.result == (None if is_away else "x" * size)
    assert end.result_bytes == size + 2
    assert len(told) < 2_500


@pytest.mark.parametrize("size", [3_900_000, 4_194_304, 9_000_000])
async def test_a_result_that_is_too_large_for_its_record_is_an_error_of_its_call(
    store: Store, size: int
) -> None:
    end, told = await given(store, lambda: "x" * size, blob_offload_bytes=100_000_000)
    if end.outcome is ToolOutcome.OK:
        assert size < 4_000_000
        return
    assert end.failure is not None
    assert end.failure.kind == "result_too_large"
    assert "did run" in told


RAISED: dict[str, Callable[[], BaseException]] = {
    "SystemExit": lambda: SystemExit(3),
    "KeyboardInterrupt": lambda: KeyboardInterrupt("stop"),
    "CancelledError": lambda: asyncio.CancelledError("by itself"),
    "GeneratorExit": GeneratorExit,
    "StopIteration": lambda: StopIteration(1),
    "RecursionError": lambda: RecursionError("too deep"),
    "MemoryError": MemoryError,
    "a group": lambda: BaseExceptionGroup("both", [SystemExit(1), ValueError("two")]),
    "one that cannot be shown": Unspeakables,
    "five megabytes of words": lambda: ValueError("w" * 5_000_000),
    "lone surrogates": lambda: ValueError("\ud800"),
    "NUL": lambda: ValueError("\0"),
    "no words": ValueError,
}


@pytest.mark.parametrize("error", RAISED.values(), ids=RAISED.keys())
async def test_whatever_a_tool_raises_is_an_error_of_its_call(
    store: Store, error: Callable[[], BaseException]
) -> None:
    end, told = await given(store, raising(error))
    assert end.outcome is ToolOutcome.ERROR
    assert end.failure is not None
    assert end.failure.kind
    assert 0 < len(end.failure.message) <= 8_192
    assert 0 < len(told) <= 8_192


async def test_a_tool_in_a_thread_may_raise_system_exit(store: Store) -> None:
    registry = ToolRegistry()

    @registry.register
    def give() -> str:
        """Leave."""
        sys.exit(1)

    async with at_work(store, FakeModel().turn(tool_calls=[("give", {})]).turn("Done."), registry):
        run_id = await begun(store, SPEC)
        await ended(store, run_id)
    (end,) = await results(store, run_id)
    assert end.failure is not None
    assert end.failure.kind == "SystemExit"


# --- the model ------------------------------------------------------------------------------------

ARGUMENTS = {
    "no JSON": "give me",
    "two objects": "{}{}",
    "an array": "[1]",
    "null": "null",
    "JSON in JSON": '"{}"',
    "NaN": '{"a": NaN}',
    "a key twice": '{"a": 1, "a": 2}',
    "a nest without end": '{"a":' + "[" * 100_000,
    "deeper than JSON goes": '{"a":' + "[" * 200 + "]" * 200 + "}",
    "a number without end": '{"a": ' + "9" * 10_000 + "}",
    "too large a float": '{"a": 1e999}',
    "cut off": '{"a": "',
    "a field that is not there": '{"z": 1}',
    "NUL": '{"a": "\0"}',
    "lone surrogates": '{"\\ud800": "\\udfff"}',
    "blank": " \n",
}


@pytest.mark.parametrize("raw", ARGUMENTS.values(), ids=ARGUMENTS.keys())
async def test_whatever_a_model_writes_as_arguments_is_answered(store: Store, raw: str) -> None:
    ran = 0

    def make() -> str:
        nonlocal ran
        ran += 1
        return "ran"

    model = FakeModel().turn(tool_calls=[ToolCallScript("give", raw_arguments=raw)]).turn("Done.")
    async with at_work(store, model, giving(make)):
        run_id = await begun(store, SPEC)
        state = await ended(store, run_id)
    assert state.terminal_state == "completed"
    (end,) = await results(store, run_id)
    assert end.outcome == ("ok" if raw.strip() == "" else "refused")
    assert ran == (raw.strip() == "")


IDS = {
    "equal": ("x", "x", "x"),
    "none": (None, None, None),
    "some": ("", "x", None),
    "odd": ("\ud800", "\0", "☃" * 300),
}


@pytest.mark.parametrize("ids", IDS.values(), ids=IDS.keys())
async def test_the_ids_of_a_provider_are_no_key(store: Store, ids: tuple[str | None, ...]) -> None:
    numbers = iter(range(10))
    calls = [ToolCallScript("give", {}, call_id=each) for each in ids]
    model = FakeModel().turn(tool_calls=calls).turn(tool_calls=calls).turn("Done.")
    async with at_work(store, model, giving(lambda: next(numbers))):
        run_id = await begun(store, SPEC)
        await ended(store, run_id)
    assert sorted(str(end.result) for end in await results(store, run_id)) == list("012345")


NAMES = [" ", "give\0", "GIVE", "give ", "\ud800", "../give", "x" * 10_000, "give;drop table run", "☃"]


@pytest.mark.parametrize("name", NAMES, ids=lambda name: ascii(name[:20]))
async def test_a_tool_that_is_not_there_is_refused_by_name(store: Store, name: str) -> None:
    model = FakeModel().turn(tool_calls=[(name, {})]).turn("Done.")
    async with at_work(store, model, giving(lambda: 1)):
        run_id = await begun(store, SPEC)
        state = await ended(store, run_id)
    assert state.terminal_state == "completed"
    (end,) = await results(store, run_id)
    assert end.failure is not None
    assert end.failure.kind == "unknown_tool"


async def test_more_calls_than_a_turn_may_have_are_refused_unrun(store: Store) -> None:
    async def square(n: int) -> int:
        """Multiply a number by itself."""
        return n * n

    model = FakeModel().turn(tool_calls=[("square", {"n": n}) for n in range(200)]).turn("Done.")
    ledger = EffectLedger()
    async with at_work(store, model, ledger.wrap(registered(square))):
        run_id = await begun(store, agent("square"))
        state = await ended(store, run_id, ledger)
    assert state.terminal_state == "completed"
    kinds = [end.failure.kind for end in await results(store, run_id) if end.failure]
    assert kinds == ["too_many_calls"] * 184
    assert len(ledger.invocations) == 16


WORDS = {
    "NUL": "a\0b",
    "a megabyte of NUL": "\0" * 1_000_000,
    "surrogates in pairs": "\U0001f600",
    "a megabyte": "w" * 1_000_000,
    "three megabytes": "w" * 3_000_000,
    "thirty megabytes": "w" * 30_000_000,
}


@pytest.mark.parametrize("text", WORDS.values(), ids=WORDS.keys())
async def test_an_answer_is_kept_whole_or_is_a_failed_call(store: Store, text: str) -> None:
    model = FakeModel().turn([text])
    async with at_work(store, model):
        run_id = await begun(store, agent(limits=Limits(transient_retry_budget=0)))
        state = await ended(store, run_id)
    assert state.settled is not None
    if len(encode_json(text)) < 2_000_000:
        (said,) = only(ModelCallFinished, await records(store, run_id))
        assert said.text == text
        assert state.settled.output == {"text": text}
        return
    (failed,) = only(ModelCallFailed, await records(store, run_id))
    assert state.terminal_state == "failed"
    assert failed.failure.code == "answer_too_large"


BROKEN: dict[str, Callable[[FakeModel], FakeModel]] = {
    "empty": lambda model: model.turn(""),
    "blank": lambda model: model.turn("  \n"),
    "cut off in a word": lambda model: model.aborts_mid_token("half a"),
    "cut off in a call": lambda model: model.aborts_mid_call("give", '{"a'),
    "transient": lambda model: model.raises_transient(),
    "said nothing": lambda model: model.turn(lambda request, context: FakeTurn("")),
}


@pytest.mark.parametrize("breaks", BROKEN.values(), ids=BROKEN.keys())
async def test_a_model_that_breaks_off_is_asked_again(
    store: Store, breaks: Callable[[FakeModel], FakeModel]
) -> None:
    model = breaks(FakeModel()).turn("Whole.")
    async with at_work(store, model):
        run_id = await begun(store, SPEC.model_copy(update={"tools": ()}))
        state = await ended(store, run_id)
    assert state.terminal_state == "completed"
    assert state.meter.failed_model_calls <= 1


class Lawless:
    """A model client that keeps none of the port's promises."""

    provider = "lawless"

    def __init__(self, error: Callable[[], BaseException], *, breaks: str = "stream") -> None:
        self._error, self._breaks = error, breaks

    def capabilities(self, model: str) -> ModelCapabilities:
        if self._breaks == "capabilities":
            raise self._error()
        return ModelCapabilities()

    async def known_models(self, context: object) -> Sequence[str]:
        raise self._error()

    async def stream(self, request: object, context: object) -> AsyncIterator[Any]:
        if request:
            raise self._error()
        yield


@pytest.mark.parametrize("breaks", ["stream", "capabilities"])
@pytest.mark.parametrize(
    "error",
    [lambda: ValueError("a bug"), lambda: RecursionError("deep"), lambda: ValueError("\ud800\0")],
    ids=["ValueError", "RecursionError", "odd words"],
)
async def test_a_model_client_with_a_bug_fails_its_run_and_no_worker(
    store: Store, error: Callable[[], BaseException], breaks: str
) -> None:
    async with at_work(store, Lawless(error, breaks=breaks)):  # type: ignore[arg-type]  # that is the point
        state = await ended(store, await begun(store, agent()))
    assert state.settled is not None
    assert state.settled.failure is not None
    assert state.settled.failure.kind != "attempt_failed"


# --- people ---------------------------------------------------------------------------------------


def hostile_texts() -> Iterator[str]:
    yield from ("\0", "\ud800", "{" * 1_000, "x" * 100_000, "' OR 1=1 --", "\x1b[2J", "\u202e")


@pytest.mark.parametrize("text", list(hostile_texts()), ids=lambda text: ascii(text[:12]))
async def test_what_people_send_reads_back_equal(store: Store, text: str) -> None:
    model = FakeModel().turn("First.").turn("Second.")
    run_id = await begun(store, agent(), message=text)
    await send(store, run_id, message={"message": text, "also": [text]}, queue="follow_up")
    async with at_work(store, model):
        await ended(store, run_id)
    (admitted,) = only(RunAdmitted, await records(store, run_id))
    assert admitted.input == {"message": text}
    shown = [message.content for message in (await thread(store, run_id)).messages if message.role == "user"]
    assert shown.count(text) == 2
    heard = [each.text for each in model.last_request.messages if isinstance(each, UserMessage)]
    assert all(each.encode() for each in heard)
