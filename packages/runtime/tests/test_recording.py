"""What a model said is written down as it ends, and plays again without it."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from decimal import Decimal
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from packages.runtime.tests.model_calls import context, request
from psych_runtime.model.by_model import ByModel
from psych_runtime.testing.clock import FakeClock
from psych_runtime.testing.fake_model import FakeModel, FakeTurn, ToolCallScript
from psych_runtime.testing.recording import RecordingClient, RecordingMismatch, ReplayClient
from psych_runtime.testing.virtual import VirtualClock, run_virtual
from psych_runtime_core.errors import (
    AccessDenied,
    CredentialNotFound,
    ModelError,
    ModelErrorKind,
    ResponseTooLarge,
)
from psych_runtime_core.ids import ToolCallId
from psych_runtime_core.jsonvalue import encode_json
from psych_runtime_core.messages import (
    AssistantMessage,
    ImagePart,
    Media,
    ModelSource,
    TextPart,
    ToolCall,
    ToolClass,
    ToolDefinition,
    ToolResultMessage,
    UserMessage,
)
from psych_runtime_core.ports.model import (
    MediaDelta,
    ModelCallContext,
    ModelCapabilities,
    ModelClient,
    ModelRequest,
    StreamDone,
    StreamEvent,
    TextDelta,
)
from psych_runtime_core.scope import Scope
from psych_runtime_core.usage import Cost, Usage


async def heard(
    client: ModelClient, what: ModelRequest | None = None, where: ModelCallContext | None = None
) -> tuple[list[StreamEvent], Exception | None]:
    """What one call streams, and what it raises."""
    seen: list[StreamEvent] = []
    try:
        async with aclosing(client.stream(what or request(), where or context())) as stream:
            async for event in stream:
                seen.append(event)
    except Exception as error:
        return seen, error
    return seen, None


def lines(path: Path) -> list[Any]:
    """The calls of a recording as JSON."""
    return [json.loads(line) for line in path.read_bytes().splitlines()[1:]]


def kept(path: Path) -> str:
    """The whole of a recording."""
    return path.read_text()


def says(*deltas: str) -> ModelRequest:
    return ModelRequest("fake-standard", tuple(UserMessage(content=text) for text in deltas))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "calls.jsonl"


any_text = st.text(st.characters(codec=None))
turns = st.builds(
    FakeTurn,
    any_text | st.lists(any_text),
    tool_calls=st.lists(
        st.builds(ToolCallScript, any_text.filter(bool), raw_arguments=any_text, opaque=st.none() | any_text),
        max_size=3,
    ),
    reasoning=st.none() | any_text,
    refusal=st.none() | any_text,
    opaque=st.none()
    | st.dictionaries(any_text, st.integers() | st.floats(allow_nan=False, allow_infinity=False) | any_text),
    usage=st.none() | st.builds(Usage, input=st.integers(0), output=st.integers(0), reasoning=st.integers(0)),
    cost=st.none() | st.builds(Cost, amount=st.decimals(0, 10**9, places=12)),
)


@given(st.lists(turns, max_size=3))
def test_a_replay_streams_what_was_recorded(script: list[FakeTurn]) -> None:
    model = FakeModel().turn(lambda _request, where: script[where.turn]).repeat()

    async def main(path: Path) -> None:
        recording = RecordingClient(model, path)
        first = [await heard(recording, where=context(turn=number)) for number, _ in enumerate(script)]
        replay = ReplayClient(path)
        assert [await heard(replay) for _ in script] == first
        replay.assert_exhausted()

    with TemporaryDirectory() as directory:
        run_virtual(lambda: main(Path(directory) / "calls.jsonl"))


async def test_a_call_is_one_line_of_what_was_asked_by_whom_and_what_came(path: Path) -> None:
    tool = ToolDefinition(
        name="pay", description="Pay.", parameters={"type": "object"}, annotations=frozenset(ToolClass)
    )
    model = FakeModel().turn("Hello.", cost=Cost(amount=Decimal("0.10")))
    recording = RecordingClient(model, path)
    assert kept(path) == '{"recording":1}\n'
    where = ModelCallContext(
        Scope(tenant="acme", principal="ann"), context().run_id, "step", "clerk", 2, 1, "k", {"trace": "id"}
    )
    await heard(recording, ModelRequest("m", says("Hi").messages, tools=(tool,), temperature=0.5), where)
    (call,) = lines(path)
    assert call.pop("digest") == sha256(encode_json(call["request"])).hexdigest()
    assert call == {
        "request": {
            "model": "m",
            "messages": [{"role": "user", "content": "Hi"}],
            "tools": [{"name": "pay", "description": "Pay.", "parameters": {"type": "object"}}],
            "temperature": 0.5,
        },
        "context": {
            "scope": {"tenant": "acme", "principal": "ann"},
            "run_id": "run_1",
            "lane": "step",
            "agent": "clerk",
            "turn": 2,
            "failures": 1,
            "cache_key": "k",
            "provider": "fake",
            "capabilities": {"structured_output": "schema", "structured_with_tools": True},
        },
        "events": [
            {"type": "text", "text": "Hello."},
            {
                "type": "done",
                "finish_reason": "stop",
                "usage": {"input": 10, "output": 5},
                "cost": {"amount": "0.10"},
            },
        ],
        "error": None,
    }


async def test_a_replay_is_the_client_that_was_recorded(path: Path) -> None:
    capabilities = ModelCapabilities(context_window=1000, reasoning=True)
    recording = RecordingClient(FakeModel(capabilities=capabilities).turn().repeat(), path)
    assert (recording.provider, recording.capabilities("x")) == ("fake", capabilities)
    assert await recording.known_models(context()) == ("fake-standard", "fake-reasoning")
    await heard(recording, request("a"))
    await heard(recording, request("b"), context(turn=2))
    replay = ReplayClient(path)
    assert replay.provider == "fake"
    assert (replay.capabilities("a"), replay.capabilities("c")) == (capabilities, ModelCapabilities())
    assert await replay.known_models(context()) == ("a", "b")


async def test_each_provider_behind_one_client_is_recorded_as_itself(path: Path) -> None:
    inner = FakeModel().turn("a")
    inner.provider = "first"
    recording = RecordingClient(ByModel({"a": inner, "b": FakeModel().turn("b")}), path)
    assert recording.provider_of("a") == "first"
    for name in ("a", "b", "c"):
        await heard(recording, request(name))
    replay = ReplayClient(path)
    assert [replay.provider_of(name) for name in ("a", "b", "d")] == ["first", "fake", "first"]
    assert [len((await heard(replay, request(name)))[0]) for name in ("a", "b", "c")] == [2, 2, 0]


async def test_media_are_kept_by_their_digest_and_not_their_bytes(path: Path) -> None:
    picture = Media(media_type="image/png", data=b"PICTURE")
    linked = Media(media_type="image/png", url="https://host/a.png")
    asked = ModelRequest(
        "m",
        (UserMessage(content=(TextPart(text="Look."), ImagePart(media=picture), ImagePart(media=linked))),),
    )
    await heard(RecordingClient(FakeModel().turn(media=[picture, linked]), path), asked)
    assert "PICTURE" not in kept(path)
    assert "UElDVFVSRQ" not in kept(path)
    (called,) = lines(path)
    held = called["request"]["messages"][0]["content"][1]["media"]
    assert (held["sha256"], held["size_bytes"]) == (picture.sha256, 7)
    named = picture.model_copy(update={"data": None, "blob_key": f"sha256:{picture.sha256}"})
    events, _ = await heard(ReplayClient(path), asked)
    assert events[:-1] == [MediaDelta(named), MediaDelta(linked)]


# --- calls that go wrong ---


def raising(error: Exception) -> FakeModel:
    def fail(_request: ModelRequest, _context: ModelCallContext) -> str:
        raise error

    return FakeModel().turn(fail)


FULL_ERROR = ModelError(
    ModelErrorKind.TRANSIENT,
    "slow \ud800 down",
    code="rate",
    status=429,
    retry_after_seconds=7.5,
    request_id="r",
    provider="p",
    model="m",
    begun=True,
    usage=Usage(input=3, output=1, cache_read=2),
    cost=Cost(amount=Decimal("0.10"), source="provider"),
    served_model="m-1",
    service_tier="flex",
)


@pytest.mark.parametrize(
    ("error", "again"),
    [
        pytest.param(FULL_ERROR, FULL_ERROR, id="everything said"),
        pytest.param(*[ModelError(ModelErrorKind.AUTH, "no")] * 2, id="little said"),
        pytest.param(*[AccessDenied("host", "not yours")] * 2, id="denied"),
        pytest.param(*[CredentialNotFound(Scope(tenant="acme"), "key")] * 2, id="credential"),
        pytest.param(*[ResponseTooLarge("https://host", 7)] * 2, id="too large"),
        pytest.param(
            ConnectionResetError("gone"),
            ModelError(ModelErrorKind.TRANSIENT, "ConnectionResetError: gone"),
            id="a raw error that may pass",
        ),
        pytest.param(
            KeyError("choices"), ModelError(ModelErrorKind.PERMANENT, "KeyError: 'choices'"), id="a bug"
        ),
    ],
)
async def test_an_error_is_recorded_and_raised_again(path: Path, error: Exception, again: Exception) -> None:
    _, first = await heard(RecordingClient(raising(error), path))
    assert first is error
    _, replayed = await heard(ReplayClient(path))
    assert type(replayed) is type(again)
    assert replayed is not None
    assert (vars(replayed), str(replayed)) == (vars(again), str(again))


async def test_what_was_said_before_a_failure_is_said_again(path: Path) -> None:
    model = FakeModel().fails("content_filter", after="so far").aborts_mid_call("pay", '{"n":')
    recording = RecordingClient(model, path)
    first = [await heard(recording, where=context(turn=turn)) for turn in (1, 2)]
    replay = ReplayClient(path)
    for streamed, error in first:
        again, raised = await heard(replay)
        assert again == streamed
        assert isinstance(error, ModelError)
        assert isinstance(raised, ModelError)
        assert vars(raised) == vars(error)


def test_a_cancelled_call_is_recorded_and_silent_where_it_was_cut(tmp_path: Path) -> None:
    class Slow(FakeModel):
        async def stream(
            self, request: ModelRequest, context: ModelCallContext
        ) -> AsyncGenerator[StreamEvent, None]:
            yield TextDelta("half a ")
            await anyio.sleep_forever()

    async def cut(client: ModelClient, after: float) -> list[StreamEvent]:
        seen: list[StreamEvent] = []
        with anyio.move_on_after(after):
            async with aclosing(client.stream(request(), context())) as stream:
                async for event in stream:
                    seen.append(event)
        return seen

    async def main(path: Path) -> None:
        assert await cut(RecordingClient(Slow(), path), 5.0) == [TextDelta("half a ")]
        (call,) = lines(path)
        assert call["error"] == {"type": "cancelled"}
        assert await cut(ReplayClient(path), 100.0) == [TextDelta("half a ")]
        assert VirtualClock().monotonic() == 105.0
        _, idle = await heard(ReplayClient(path), request(idle=30.0))
        assert isinstance(idle, RecordingMismatch)
        _, idle = await heard(ReplayClient(path))
        assert isinstance(idle, ModelError)
        assert (idle.code, VirtualClock().monotonic()) == ("idle", 405.0)

    run_virtual(lambda: main(tmp_path / "calls.jsonl"))


async def test_a_stream_that_is_closed_early_is_cancelled_and_one_closed_at_its_end_is_whole(
    path: Path,
) -> None:
    recording = RecordingClient(FakeModel().turn("one two").repeat(), path)
    for turn, last in enumerate((TextDelta, StreamDone), 1):
        async with aclosing(recording.stream(request(), context(turn=turn))) as stream:
            async for event in stream:
                if isinstance(event, last):
                    break
    closed, whole = lines(path)
    assert (closed["error"], len(closed["events"])) == ({"type": "cancelled"}, 1)
    assert (whole["error"], len(whole["events"])) == (None, 3)


async def test_calls_side_by_side_are_written_as_they_end(path: Path) -> None:
    clock = FakeClock()
    model = FakeModel(play="per_lane", clock=clock)
    model.turn(lambda _request, where: FakeTurn(where.lane, delay=60.0 - int(where.lane)))
    recording = RecordingClient(model, path)
    async with anyio.create_task_group() as group:
        for lane in range(50):
            group.start_soon(heard, recording, says(str(lane)), context(lane=str(lane)))
        await clock.advance(60.0)
    assert [call["context"]["lane"] for call in lines(path)] == [str(lane) for lane in reversed(range(50))]
    replay = ReplayClient(path)
    for lane in range(50):
        assert (await heard(replay, says(str(lane))))[0][0] == TextDelta(str(lane))


# --- what is not kept ---

SECRET = "sk-12345"


def masked(value: Any) -> Any:
    return json.loads(json.dumps(value).replace(SECRET, "***"))


async def test_redaction_leaves_no_secret_and_is_replayed_with_itself(path: Path) -> None:
    call = ToolCallScript("pay", {"key": SECRET}, opaque=[SECRET])
    model = FakeModel().turn(f"I say {SECRET}", reasoning=SECRET, refusal=SECRET, tool_calls=[call])
    model.fails("auth", message=f"wrong key {SECRET}", after=SECRET)
    recording = RecordingClient(model, path, redact=masked)
    secret = ModelRequest("m", says(f"my key is {SECRET}").messages, options={"key": SECRET})
    await heard(recording, secret, context(agent=SECRET))
    await heard(recording, secret, context(turn=2))
    assert SECRET not in kept(path)
    assert kept(path).count("***") > 8
    replay = ReplayClient(path, redact=masked)
    first, _ = await heard(replay, secret)
    assert TextDelta("***") in first
    assert str((await heard(replay, secret))[1]) == "wrong key ***"
    clean = ModelRequest("m", says("my key is ***").messages, options={"key": "***"})
    assert (await heard(ReplayClient(path), clean))[1] is None
    assert isinstance((await heard(ReplayClient(path), secret))[1], RecordingMismatch)


async def test_a_conversation_is_the_same_whatever_ids_its_calls_have(path: Path) -> None:
    def asked(*ids: str) -> ModelRequest:
        calls = tuple(ToolCall(id=ToolCallId(id), name="f", arguments="{}") for id in ids)
        said = AssistantMessage(parts=calls, source=ModelSource(provider="fake", model="m"))
        results = (ToolResultMessage(call_id=ToolCallId(id), name="f", content="1") for id in ids)
        return ModelRequest("m", (*says("Hi").messages, said, *results))

    await heard(RecordingClient(FakeModel().turn("Done."), path), asked("call_a1", "call_b2"))
    assert "call_a1" not in kept(path)
    assert await said(ReplayClient(path), asked("call_x", "call_y")) == "Done."
    swapped = asked("call_x", "call_y")
    swapped = ModelRequest("m", (*swapped.messages[:-2], swapped.messages[-1], swapped.messages[-2]))
    with pytest.raises(RecordingMismatch, match='where /messages/2/call_id is "call_1", and "call_2" was'):
        await said(ReplayClient(path), swapped)


async def test_no_header_is_written(path: Path) -> None:
    where = ModelCallContext(
        Scope(tenant="acme"), context().run_id, "", "clerk", 1, headers={"authorization": SECRET}
    )
    await heard(RecordingClient(FakeModel().turn(), path), where=where)
    assert SECRET not in kept(path)


async def test_an_answer_that_was_recorded_is_never_written_over(path: Path) -> None:
    await heard(RecordingClient(FakeModel().turn("paid for"), path))
    before = kept(path)
    with pytest.raises(FileExistsError, match=r"calls\.jsonl is there already; remove it to record anew"):
        RecordingClient(FakeModel(), path)
    assert kept(path) == before


# --- which call is played ---


@pytest.fixture
async def recorded(path: Path) -> Path:
    """Two calls of one request, and one of another."""
    model = FakeModel().turn("first").turn("second").turn("other")
    recording = RecordingClient(model, path)
    for turn, asked in enumerate((says("a"), says("a"), says("b", "c")), 1):
        await heard(recording, asked, context(turn=turn))
    return path


async def said(client: ReplayClient, what: ModelRequest) -> str:
    events, error = await heard(client, what)
    if error is not None:
        raise error
    return "".join(event.text for event in events if isinstance(event, TextDelta))


async def test_equal_requests_are_played_in_their_order(recorded: Path) -> None:
    replay = ReplayClient(recorded)
    assert await said(replay, says("b", "c")) == "other"
    assert [await said(replay, says("a")) for _ in range(2)] == ["first", "second"]
    replay.assert_exhausted()
    with pytest.raises(RecordingMismatch, match="each of its calls is used, and one more came"):
        await said(replay, says("a"))
    with pytest.raises(AssertionError, match="one more came"):
        replay.assert_exhausted()


async def test_in_order_any_request_is_played(recorded: Path) -> None:
    replay = ReplayClient(recorded, match="order")
    assert [await said(replay, says("x")) for _ in range(3)] == ["first", "second", "other"]
    with pytest.raises(RecordingMismatch):
        await said(replay, says("x"))


@pytest.mark.parametrize(
    ("asked", "line", "path_", "values"),
    [
        pytest.param(says("A"), 2, "/messages/0/content", '"a", and "A" was asked', id="a text"),
        pytest.param(says("b", "d"), 4, "/messages/1/content", '"c", and "d" was asked', id="the nearest"),
        pytest.param(
            says("b", "c", "d"),
            4,
            "/messages/2",
            'nothing, and {"content":"d","role":"user"} was asked',
            id="one message more",
        ),
        pytest.param(request("m"), 2, "/messages/0/content", '"a", and "hello" was asked', id="the first"),
        pytest.param(
            ModelRequest("fake-standard", says("a").messages, options={"a/b": 1}),
            2,
            "/options",
            'nothing, and {"a/b":1} was asked',
            id="a setting",
        ),
        pytest.param(says("x" * 999), 2, "/messages/0/content", "… [truncated] was asked", id="a long one"),
    ],
)
async def test_the_first_difference_to_the_nearest_request_is_named(
    recorded: Path, asked: ModelRequest, line: int, path_: str, values: str
) -> None:
    replay = ReplayClient(recorded)
    with pytest.raises(RecordingMismatch) as raised:
        await said(replay, asked)
    assert raised.value.difference is not None
    assert (raised.value.line, raised.value.difference.path) == (line, path_)
    assert f"nearest is line {line}, where {path_} is" in str(raised.value)
    assert values in str(raised.value)
    assert len(str(raised.value)) < 600


async def test_calls_that_nobody_made_are_named_by_their_lines(recorded: Path) -> None:
    replay = ReplayClient(recorded)
    await said(replay, says("a"))
    with pytest.raises(AssertionError, match=r"calls\.jsonl: not played: line 3, 4$"):
        replay.assert_exhausted()


# What the types refuse is refused at run time as well.
untyped: Any = ReplayClient


def test_there_are_two_ways_to_match(path: Path) -> None:
    with pytest.raises(ValueError, match="give 'exact' or 'order'"):
        untyped(path, match="nearly")
    with pytest.raises(FileNotFoundError, match=r"is not there; record it first, with RecordingClient\("):
        ReplayClient(path)
