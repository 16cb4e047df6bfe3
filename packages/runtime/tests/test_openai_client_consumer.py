"""The consumer's own code within a call: whatever it gives or raises becomes an error of the port."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import aclosing
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from pydantic import SecretStr

from packages.runtime.tests.client_scenes import asked, context, failing, heard, serving, text_of
from psych_runtime.egress.transport import HttpTransport
from psych_runtime.model.chat.headers import private_values
from psych_runtime.model.openai_compatible import OpenAICompatibleClient
from psych_runtime_core.errors import AccessDenied, CredentialNotFound, ModelError, ModelErrorKind
from psych_runtime_core.ports.secrets import ResolvedCredential
from psych_runtime_core.scope import Scope

KEY = "sk-SECRET-1234567890"
URL = "http://127.0.0.1:9/v1"
PERMANENT, TRANSIENT, AUTH = ModelErrorKind.PERMANENT, ModelErrorKind.TRANSIENT, ModelErrorKind.AUTH


class Gives:
    """Resolves every name to one thing, which need be no secret, or raises it."""

    def __init__(self, what: Any) -> None:
        self.what = what

    async def resolve(self, scope: Scope, name: str) -> Any:
        if isinstance(self.what, BaseException):
            raise self.what
        return self.what


class Unreadable(SecretStr):
    """A secret that does not show itself even to its owner."""

    def get_secret_value(self) -> str:
        raise RuntimeError(KEY)


def credential(identity: Any = "id", secret: Any = KEY) -> ResolvedCredential:
    return ResolvedCredential(identity, secret)


def chain(error: BaseException) -> str:
    """All that anybody can see of an error and of what led to it."""
    return "".join(traceback.format_exception(error)) + str(vars(error))


KEYS: dict[str, tuple[object, ModelErrorKind, str]] = {
    "a text": (KEY, PERMANENT, "give a ResolvedCredential, not str"),
    "an object": (object(), PERMANENT, "ResolvedCredential, not object"),
    "a plain secret": (credential(), PERMANENT, "its secret has to be a SecretStr of a str"),
    "no secret": (credential(secret=None), PERMANENT, "its secret has to be a SecretStr"),
    "a secret of a number": (credential(secret=SecretStr(5)), PERMANENT, "SecretStr of a str"),  # type: ignore[arg-type]  # as some do
    "a secret that raises": (credential(secret=Unreadable("x")), PERMANENT, "RuntimeError"),
    "an identity without a hash": (
        credential([KEY], SecretStr(KEY)),
        PERMANENT,
        "its identity has to be a str",
    ),
    "no identity": (credential(None, SecretStr(KEY)), PERMANENT, "its identity has to be a str"),
    "an empty secret": (credential(secret=SecretStr("")), AUTH, "it is empty"),
    "a secret of two lines": (credential(secret=SecretStr(f"{KEY}\n{KEY}")), AUTH, "non-ASCII"),
    "an error": (RuntimeError(f"cannot open {KEY}"), PERMANENT, "could not be had: RuntimeError."),
    "an error that passes": (ConnectionError(KEY), TRANSIENT, "could not be had: ConnectionError."),
    "an error of a model": (ModelError(TRANSIENT, KEY, code=KEY), TRANSIENT, "ModelError."),
    "an end of an iteration": (StopAsyncIteration(KEY), PERMANENT, "StopAsyncIteration"),
    "a cancellation of its own": (asyncio.CancelledError(KEY), PERMANENT, "CancelledError"),
}


@pytest.mark.parametrize("what", KEYS)
async def test_a_key_that_is_none_is_an_error_of_the_call_and_shows_nothing(what: str) -> None:
    given, kind, words = KEYS[what]
    async with serving(credential="main", secrets=Gives(given)) as (stub, client):
        _, error = await failing(client)
        assert not stub.requests
        assert await client.known_models(context()) == ()
    assert (error.kind, error.provider) == (kind, "127.0.0.1")
    assert words in error.message
    assert KEY not in chain(error)
    assert (error.__cause__, error.__context__) == (None, None)


@pytest.mark.parametrize(
    "error", [AccessDenied("vault", "not you"), CredentialNotFound(Scope(tenant="acme"), "main")], ids=type
)
async def test_what_a_port_may_say_is_said_without_what_led_to_it(error: Exception) -> None:
    error.__cause__ = RuntimeError(KEY)
    client = OpenAICompatibleClient(base_url=URL, credential="main", secrets=Gives(error))
    with pytest.raises(type(error)) as caught:
        await heard(client)
    assert caught.value is error
    assert KEY not in chain(error)


async def test_a_call_that_is_cancelled_at_its_key_is_cancelled() -> None:
    asks: list[str] = []

    class Waits(Gives):
        async def resolve(self, scope: Scope, name: str) -> Any:
            asks.append(name)
            await anyio.sleep_forever()

    client = OpenAICompatibleClient(base_url=URL, credential="main", secrets=Waits(None))

    async def models() -> None:
        await client.known_models(context())

    async def answer() -> None:
        await heard(client)

    for number, call in enumerate((answer, models), start=1):
        task = asyncio.create_task(call())
        while len(asks) < number:
            await anyio.lowlevel.checkpoint()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


# --- headers --------------------------------------------------------------------------------------------


class Odd(Mapping[str, str]):
    """A mapping that cannot be read."""

    def __getitem__(self, name: str) -> str:
        raise KeyError(KEY)

    def __iter__(self) -> Iterator[str]:
        raise RuntimeError(KEY)

    def __len__(self) -> int:
        return 1


def raising(error: BaseException) -> Callable[[object], Any]:
    def headers(where: object) -> Any:
        raise error

    return headers


HEADERS: dict[str, tuple[Callable[[Any], Any], ModelErrorKind, str]] = {
    "an error": (raising(ZeroDivisionError(KEY)), PERMANENT, "cannot be sent: ZeroDivisionError."),
    "an error that passes": (raising(TimeoutError(KEY)), TRANSIENT, "TimeoutError"),
    "a cancellation of its own": (raising(asyncio.CancelledError(KEY)), PERMANENT, "CancelledError"),
    "nothing": (lambda where: None, PERMANENT, ": NoneType is no mapping of names to values"),
    "a list": (lambda where: [("x-a", KEY)], PERMANENT, "list is no mapping"),
    "a mapping that raises": (lambda where: Odd(), PERMANENT, "RuntimeError"),
    "a number": (lambda where: {"x-a": 5}, PERMANENT, "the value of x-a is of type int: give a text"),
    "bytes": (lambda where: {"x-a": KEY.encode()}, PERMANENT, "the value of x-a is of type bytes"),
    "a name of bytes": (lambda where: {KEY.encode(): "x"}, PERMANENT, "a name is of type bytes"),
    "two lines": (lambda where: {"x-a": f"{KEY}\r\nx-b: 1"}, PERMANENT, "x-a holds CR"),
    "a name that is none": (lambda where: {"a b": KEY}, PERMANENT, "'a b' is no name"),
}


@pytest.mark.parametrize("what", HEADERS)
async def test_headers_that_are_none_are_an_error_of_the_call_and_show_nothing(what: str) -> None:
    headers, kind, words = HEADERS[what]
    async with serving(headers=headers) as (stub, client):
        _, error = await failing(client)
        assert await client.known_models(context()) == ()
        assert not stub.requests
    assert error.kind is kind
    assert words in error.message
    assert KEY not in chain(error)
    assert (error.__cause__, error.__context__) == (None, None)


@pytest.mark.parametrize(
    ("trace", "words"),
    [({"x-a": 5}, "x-a is of type int"), (None, "NoneType is no mapping"), ({"x-a": "\r\n"}, "x-a holds CR")],
    ids=["a number", "nothing", "two lines"],
)
async def test_headers_of_a_trace_that_are_none_are_an_error_of_the_call(trace: Any, words: str) -> None:
    with pytest.raises(ModelError, match=words):
        await heard(OpenAICompatibleClient(base_url=URL), where=context(headers=trace))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param({"headers": {"x-a": 5}}, "x-a is of type int", id="a header"),
        pytest.param({"headers": [KEY]}, "list is no mapping", id="a list of headers"),
        pytest.param({"query": {"key": 5}}, "key is of type int", id="a query"),
    ],
)
def test_a_bad_value_is_refused_when_the_client_is_made(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        OpenAICompatibleClient(base_url=URL, **arguments)


# --- the rest of the way --------------------------------------------------------------------------------


class Breaks(HttpTransport):
    """A transport of somebody's own, which fails in ways of its own."""

    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self.error = error

    def stream(self, *arguments: Any, **keywords: Any) -> Any:
        raise self.error

    async def request(self, *arguments: Any, **keywords: Any) -> Any:
        raise self.error


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        pytest.param(ValueError(KEY), PERMANENT, id="ValueError"),
        pytest.param(ConnectionResetError(KEY), TRANSIENT, id="ConnectionResetError"),
        pytest.param(ExceptionGroup(KEY, [ValueError(KEY)]), PERMANENT, id="a group"),
        pytest.param(asyncio.CancelledError(KEY), PERMANENT, id="a cancellation of its own"),
    ],
)
async def test_nothing_raw_leaves_the_port(error: BaseException, kind: ModelErrorKind) -> None:
    client = OpenAICompatibleClient(base_url=URL, transport=Breaks(error))
    _, failed = await failing(client)
    assert (failed.kind, failed.model) == (kind, "m-1")
    assert type(error).__name__ in failed.message
    assert KEY not in chain(failed)
    assert (failed.__cause__, failed.__context__) == (None, None)
    assert await client.known_models(context()) == ()


async def test_headers_of_the_transport_that_are_none_are_an_error_of_the_call() -> None:
    def headers(scope: object, purpose: object) -> Any:
        raise LookupError(KEY)

    client = OpenAICompatibleClient(base_url=URL, transport=HttpTransport(headers=headers))
    _, error = await failing(client)
    assert KEY not in chain(error)


async def test_a_consumer_may_leave_a_stream_by_an_error_of_its_own() -> None:
    async def leave(client: OpenAICompatibleClient) -> None:
        async with aclosing(client.stream(asked(), context())) as stream:
            async for _ in stream:
                raise KeyError(KEY)

    async with serving() as (_, client):
        with pytest.raises(KeyError):
            await leave(client)
        assert text_of(await heard(client)) == "Hello"


# --- what may be a secret -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "private"),
    [
        pytest.param({"x-key": "sk-12345"}, ["sk-12345"], id="a value"),
        pytest.param({"x-key": "sk-1234"}, [], id="a short one"),
        pytest.param(
            {"X-Auth": "Token sk-12345"}, ["Token sk-12345", "sk-12345"], id="a key behind a scheme"
        ),
        pytest.param({"x-title": "My fine app"}, ["My fine app"], id="a sentence"),
        pytest.param({"User-Agent": "curious/1.0", "api-version": "2025-01-01"}, [], id="what all may know"),
    ],
)
def test_what_a_client_is_given_to_send_may_be_a_secret(given: dict[str, str], private: list[str]) -> None:
    assert list(private_values(given)) == private
