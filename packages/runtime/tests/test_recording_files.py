"""A recording stays readable: over releases, over deaths; and what cannot be read is named by its line."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from packages.runtime.tests.model_calls import context, request
from psych_runtime.testing.model_json import error_json
from psych_runtime.testing.recording import RecordingClient, RecordingUnreadable, ReplayClient
from psych_runtime_core.errors import RequestFailed
from psych_runtime_core.messages import FinishReason
from psych_runtime_core.ports.model import StreamDone, TextDelta

# A recording is a promise: what one release wrote every later one reads, and asks for alike.
WRITTEN = (
    b'{"recording":1}\n'
    b'{"context":{"agent":"helper","lane":"","provider":"fake","run_id":"run_1","scope":{"tenant":"acme"},'
    b'"turn":1},"digest":"2b755c5230dc193689ff2d1c2ea2b18a581fc78aa0d15440fc82d0909d8ddb65","error":null,"events":[{"text":"Hi.","type":"text"},'
    b'{"finish_reason":"stop","type":"done"}],"request":{"messages":[{"content":"hello","role":"user"}],'
    b'"model":"fake-standard"}}\n'
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "calls.jsonl"


@pytest.fixture
def written(path: Path) -> Path:
    path.write_bytes(WRITTEN)
    return path


async def test_a_recording_of_the_first_release_is_played(written: Path) -> None:
    async with aclosing(ReplayClient(written).stream(request(), context())) as stream:
        assert [event async for event in stream] == [TextDelta("Hi."), StreamDone(FinishReason.STOP)]


def changed(old: bytes, new: bytes) -> bytes:
    assert old in WRITTEN
    return WRITTEN.replace(old, new)


@pytest.mark.parametrize(
    ("written", "line", "said"),
    [
        pytest.param(b"", 1, "cut short", id="an empty file"),
        pytest.param(WRITTEN[:10], 1, "cut short", id="half a header"),
        pytest.param(changed(b":1}\n", b":2}\n"), 1, "version 1", id="a version of a later release"),
        pytest.param(changed(b'{"recording":1}\n', b""), 1, "version 1", id="no header"),
        pytest.param(changed(b'{"recording":1}', b"[]"), 1, "no JSON object", id="a header that is none"),
        pytest.param(WRITTEN[:-9], 2, "cut short", id="half a call"),
        pytest.param(WRITTEN[:-1], 2, "cut short", id="a call without the end of its line"),
        pytest.param(WRITTEN + b'{"digest"\n', 3, "no JSON:", id="half a call and the end of a line"),
        pytest.param(changed(b'"digest"', b'"x"'), 2, "KeyError('digest')", id="a key that is missing"),
        pytest.param(changed(b'"type":"text"', b'"type":"x"'), 2, "no type of an event", id="an event"),
        pytest.param(changed(b'"text":"Hi."', b'"text":7'), 2, "valid string", id="an event's fields"),
        pytest.param(changed(b"null", b'{"type":"oops"}'), 2, "no error", id="an error"),
        pytest.param(
            changed(b"null", b'{"type":"model_error","kind":"auth","message":"","x":1}'),
            2,
            "'model_error' is no error of these fields",
            id="an error's fields",
        ),
        pytest.param(changed(b'"provider"', b'"x"'), 2, "KeyError('provider')", id="a context"),
    ],
)
def test_what_cannot_be_read_is_named_by_its_line(path: Path, written: bytes, line: int, said: str) -> None:
    path.write_bytes(written)
    with pytest.raises(RecordingUnreadable, match=rf"calls\.jsonl, line {line}: ") as raised:
        ReplayClient(path)
    assert raised.value.line == line
    assert said in str(raised.value)
    assert str(raised.value).endswith("record it anew, or take the line out")


class Refused(Exception):
    status_code = 403


UNSENT = RequestFailed("https://host", "connect", "refused", sent=False)


@pytest.mark.parametrize(
    ("raw", "kind", "told"),
    [
        pytest.param(Refused("no"), "auth", {"status": 403}, id="a status"),
        pytest.param(UNSENT, "transient", {"begun": False}, id="nothing was sent"),
        pytest.param(KeyError("choices"), "permanent", {}, id="neither"),
    ],
)
def test_a_raw_error_is_kept_as_what_it_says_of_an_answer(
    raw: Exception, kind: str, told: dict[str, object]
) -> None:
    message = f"{type(raw).__name__}: {raw}"
    assert error_json(raw) == {"type": "model_error", "kind": kind, "message": message, **told}


def test_what_is_no_client_is_refused_before_a_file_is_made(path: Path) -> None:
    model: Any = "gpt"
    with pytest.raises(TypeError, match=r"the model is a str without stream, .*; give a ModelClient"):
        RecordingClient(model, path)
    assert not path.exists()


# It records calls for ever, and says so once it has begun.
RECORDER = """
    import asyncio, sys
    from contextlib import aclosing
    from psych_runtime.testing import FakeModel, RecordingClient
    from psych_runtime_core.ids import RunId
    from psych_runtime_core.messages import UserMessage
    from psych_runtime_core.ports.model import ModelCallContext, ModelRequest
    from psych_runtime_core.scope import Scope

    async def main():
        client = RecordingClient(FakeModel().turn("word " * 2_000).repeat(), sys.argv[1])
        for turn in range(100_000):
            where = ModelCallContext(Scope(tenant="acme"), RunId("run_1"), "", "clerk", turn)
            what = ModelRequest("m", (UserMessage(content="hello"),))
            async with aclosing(client.stream(what, where)) as stream:
                async for event in stream:
                    pass
            print(turn, flush=True)

    asyncio.run(main())
"""


@pytest.mark.parametrize("calls", [1, 3, 7])
def test_a_process_that_is_killed_while_it_records_leaves_whole_calls(path: Path, calls: int) -> None:
    command = [sys.executable, "-c", textwrap.dedent(RECORDER), str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=os.environ | {"PYTHONPATH": ""}) as recorder:
        assert recorder.stdout is not None
        for _ in range(calls):
            recorder.stdout.readline()
        recorder.send_signal(signal.SIGKILL)
    assert recorder.returncode == -signal.SIGKILL
    replay = ReplayClient(path)
    with pytest.raises(AssertionError, match=f"line 2(, [0-9]+){{{calls - 1},}}$"):
        replay.assert_exhausted()
