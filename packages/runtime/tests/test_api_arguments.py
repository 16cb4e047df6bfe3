"""Every argument is judged before a store is asked anything."""

from collections.abc import Awaitable, Callable
from typing import Any, cast

import pytest

from packages.runtime.tests.api_scenes import ACME, SPEC
from psych_runtime import (
    Answer,
    ImagePart,
    Media,
    Store,
    TextPart,
    answer,
    approve,
    deny,
    dispatch,
    interrupt,
    publish,
    records,
    report,
    resume,
    resume_all,
    scoped,
    send,
    state,
    status,
    stream,
    thread,
    verify,
)
from psych_runtime_core.state.fold import empty

PICTURE = ImagePart(media=Media(media_type="image/png", data=b"\x89PNG"))


class Untouched:
    """A store that fails a test which asks it anything."""

    def __getattr__(self, name: str) -> object:
        raise AssertionError(f"the store was asked for {name}")


NOWHERE = cast("Store", Untouched())
Call = Callable[..., Any]


async def made(call: Call, *args: object, **given: object) -> None:
    """Make a call, whatever its form: a coroutine, an iterator, or a plain value."""
    result = call(NOWHERE, *args, **given)
    if isinstance(result, Awaitable):
        await result


OF_A_RUN: list[Call] = [
    records,
    stream,
    state,
    status,
    answer,
    thread,
    report,
    verify,
    interrupt,
    approve,
    deny,
    resume,
]
BAD_IDS = [
    pytest.param(7, TypeError, id="a number"),
    pytest.param("", ValueError, id="nothing"),
    pytest.param(" run_1", ValueError, id="blanks around it"),
    pytest.param("run\n1", ValueError, id="a control character"),
    pytest.param("r" * 257, ValueError, id="too long"),
    pytest.param("run\ud800", ValueError, id="a surrogate"),
]


@pytest.mark.parametrize("call", OF_A_RUN)
@pytest.mark.parametrize(("run_id", "error"), BAD_IDS)
async def test_a_run_id_is_an_identifier(call: Call, run_id: object, error: type[Exception]) -> None:
    with pytest.raises(error, match="run_id"):
        await made(call, run_id)


@pytest.mark.parametrize("call", OF_A_RUN)
async def test_a_scope_is_a_scope(call: Call) -> None:
    with pytest.raises(TypeError, match="scope"):
        await made(call, "run_1", scope="acme")


BAD = [
    pytest.param(publish, ("clerk",), {}, TypeError, "spec", id="publish: a text"),
    pytest.param(publish, (SPEC,), {"context": {}}, TypeError, "context", id="publish: a context"),
    pytest.param(dispatch, (SPEC, "acme"), {}, TypeError, "scope", id="dispatch: a tenant"),
    pytest.param(dispatch, (7, ACME), {}, TypeError, "version", id="dispatch: a number"),
    pytest.param(dispatch, ("", ACME), {}, ValueError, "version", id="dispatch: no hash"),
    pytest.param(dispatch, (SPEC, ACME), {"input": 7}, TypeError, "input", id="dispatch: input 7"),
    pytest.param(dispatch, (SPEC, ACME), {"input": ["a"]}, ValueError, "input", id="dispatch: a list"),
    pytest.param(dispatch, (SPEC, ACME), {"input": {"a": {1}}}, ValueError, "/input/a", id="dispatch: a set"),
    pytest.param(dispatch, (SPEC, ACME), {"input": {"a": float("nan")}}, ValueError, "input", id="a NaN"),
    pytest.param(dispatch, (SPEC, ACME), {"input": "x" * 2**20}, ValueError, "input", id="over 1 MiB"),
    pytest.param(dispatch, (SPEC, ACME), {"idempotency_key": ""}, ValueError, "idempotency_key", id="no key"),
    pytest.param(dispatch, (SPEC, ACME), {"idempotency_key": 1}, TypeError, "idempotency_key", id="key 1"),
    pytest.param(dispatch, (SPEC, ACME), {"deadline_seconds": 0}, ValueError, "deadline_seconds", id="0 s"),
    pytest.param(
        dispatch, (SPEC, ACME), {"deadline_seconds": 86_401}, ValueError, "deadline", id="over a day"
    ),
    pytest.param(dispatch, (SPEC, ACME), {"deadline_seconds": "9"}, TypeError, "deadline", id="'9' seconds"),
    pytest.param(
        dispatch, (SPEC, ACME), {"deadline_seconds": True}, TypeError, "deadline", id="true seconds"
    ),
    pytest.param(dispatch, (SPEC, ACME), {"delay_seconds": -1}, ValueError, "delay_seconds", id="-1 s"),
    pytest.param(dispatch, (SPEC, ACME), {"delay_seconds": float("inf")}, ValueError, "delay", id="inf s"),
    pytest.param(
        dispatch, (SPEC, ACME), {"delay_seconds": 10**400}, ValueError, "delay", id="an endless int"
    ),
    pytest.param(
        dispatch, (SPEC, ACME), {"delay_seconds": 31_536_001}, ValueError, "delay", id="over a year"
    ),
    pytest.param(dispatch, (SPEC, ACME), {"priority": 101}, ValueError, "priority", id="priority 101"),
    pytest.param(dispatch, (SPEC, ACME), {"priority": 1.0}, TypeError, "priority", id="priority 1.0"),
    pytest.param(dispatch, (SPEC, ACME), {"priority": True}, TypeError, "priority", id="priority true"),
    pytest.param(send, ("r",), {"message": ""}, ValueError, "message", id="send: nothing"),
    pytest.param(send, ("r",), {"message": {}}, ValueError, "message", id="send: an empty object"),
    pytest.param(send, ("r",), {"message": 7}, TypeError, "message", id="send: 7"),
    pytest.param(
        send,
        ("r",),
        {"message": TextPart(text="a")},
        TypeError,
        r"message is one TextPart; give .*\[part\]",
        id="a part",
    ),
    pytest.param(
        dispatch,
        (SPEC, ACME),
        {"input": PICTURE},
        TypeError,
        r"input is one ImagePart; .*\[part\]",
        id="a picture",
    ),
    pytest.param(send, ("r",), {"message": "x" * 2**18}, ValueError, "message", id="send: over 256 KiB"),
    pytest.param(send, ("r",), {"message": "m", "queue": "soon"}, ValueError, "queue", id="send: a queue"),
    pytest.param(send, ("r",), {"message": "m", "queue": 1}, TypeError, "queue", id="send: queue 1"),
    pytest.param(send, ("r",), {"message": "m", "key": " k"}, ValueError, "key", id="send: a blank key"),
    pytest.param(send, ("r",), {"message": "m", "by": ""}, ValueError, "by", id="send: nobody"),
    pytest.param(interrupt, ("r",), {"reason": 7}, TypeError, "reason", id="interrupt: reason 7"),
    pytest.param(interrupt, ("r",), {"reason": "x" * 1_025}, ValueError, "reason", id="a long reason"),
    pytest.param(interrupt, ("r",), {"by": 7}, TypeError, "by", id="interrupt: by 7"),
    pytest.param(records, ("r",), {"after": -1}, ValueError, "after", id="records: before the log"),
    pytest.param(records, ("r",), {"after": 1.0}, TypeError, "after", id="records: after 1.0"),
    pytest.param(records, ("r",), {"limit": 0}, ValueError, "limit", id="records: none"),
    pytest.param(stream, ("r",), {"after": -1}, ValueError, "after", id="stream: before the log"),
    pytest.param(state, ("r",), {"prior": {}}, TypeError, "prior", id="state: no view"),
    pytest.param(state, ("r",), {"prior": empty(cast("Any", "other"))}, ValueError, "prior", id="another's"),
    pytest.param(resume, ("r",), {"approved": 1}, TypeError, "approved", id="resume: approved 1"),
    pytest.param(resume, ("r",), {"approved": False, "payload": 7}, TypeError, "payload", id="payload 7"),
    pytest.param(resume, ("r",), {"approved": True, "arguments": []}, TypeError, "arguments", id="a list"),
    pytest.param(resume, ("r",), {"arguments": {}}, ValueError, "arguments", id="arguments, no decision"),
    pytest.param(
        resume, ("r",), {"approved": False, "arguments": {}}, ValueError, "arguments", id="a denied edit"
    ),
    pytest.param(resume, ("r",), {"remember": "tool"}, ValueError, "remember", id="remember what?"),
    pytest.param(approve, ("r",), {"remember": "all"}, ValueError, "remember", id="remember all"),
    pytest.param(approve, ("r",), {"remember": 1}, TypeError, "remember", id="remember 1"),
    pytest.param(
        resume, ("r",), {"approved": True, "payload": {"a": 1}}, ValueError, "payload", id="a yes, but"
    ),
    pytest.param(
        resume, ("r",), {"approved": False, "payload": {"why": "x"}}, ValueError, "payload", id="why"
    ),
    pytest.param(
        resume, ("r",), {"approved": False, "payload": {"reason": 1}}, ValueError, "payload", id="1"
    ),
    pytest.param(approve, ("r",), {"arguments": {"a": "x" * 2**18}}, ValueError, "arguments", id="too large"),
    pytest.param(approve, ("r", ""), {}, ValueError, "wait", id="approve: no Wait"),
    pytest.param(approve, ("r", 7), {}, TypeError, "wait", id="approve: Wait 7"),
    pytest.param(deny, ("r",), {"reason": None}, TypeError, "reason", id="deny: no text"),
    pytest.param(deny, ("r",), {"reason": "x" * 2**18}, ValueError, "payload", id="deny: a book"),
    pytest.param(resume_all, ("r", [1]), {}, TypeError, "answers", id="resume_all: a list"),
    pytest.param(resume_all, ("r", dict[str, Answer]()), {}, ValueError, "answers", id="resume_all: nothing"),
    pytest.param(resume_all, ("r", {"w": True}), {}, TypeError, "answers", id="resume_all: true"),
    pytest.param(
        resume_all, ("r", {" ": Answer()}), {}, ValueError, "answers", id="resume_all: a blank Wait"
    ),
    pytest.param(scoped, ("acme",), {}, TypeError, "scope", id="scoped: a tenant"),
]


@pytest.mark.parametrize(("call", "args", "given", "error", "named"), BAD)
async def test_a_wrong_argument_is_named_before_anything_is_asked(
    call: Call, args: tuple[object, ...], given: dict[str, object], error: type[Exception], named: str
) -> None:
    with pytest.raises(error, match=named):
        await made(call, *args, **given)
