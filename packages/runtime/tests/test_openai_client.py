"""The client's arguments, what it shows of itself, and what it knows without a call."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import SecretStr

from packages.runtime.tests.client_scenes import Vault, asked, context, heard, serving
from psych_runtime.egress.limits import HttpTimeouts
from psych_runtime.egress.transport import HttpTransport
from psych_runtime.model.chat.dialects import DIALECTS
from psych_runtime.model.openai_compatible import OpenAICompatibleClient
from psych_runtime.testing.http_stub import Reply
from psych_runtime_core.errors import AccessDenied
from psych_runtime_core.ports.model import ModelCapabilities
from psych_runtime_core.scope import Scope

URL = "https://api.example.com/v1"


OF_ONE: dict[str, Any] = {"base_url": URL}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        pytest.param({"base_url": "ftp://example.com"}, "use https or http", id="another scheme"),
        pytest.param({"base_url": "api.example.com/v1"}, "use https or http", id="no scheme"),
        pytest.param({"base_url": "https://"}, "names no host", id="no host"),
        pytest.param({"base_url": "https://u:pw@example.com/v1"}, "send them in a header", id="a password"),
        pytest.param({"base_url": f"{URL}?api-version=1"}, r"give it as query=", id="a query"),
        pytest.param({"base_url": f"{URL}#top"}, "leave out what begins with #", id="a fragment"),
        pytest.param({"base_url": "https://a b/v1"}, "its host is none", id="blanks"),
        pytest.param({"base_url": f"{URL}/chat/completions"}, f"give '{URL}'", id="the whole path"),
        pytest.param(
            {"base_url": f"{URL}/chat/completions/"}, f"give '{URL}'", id="the whole path, and a slash"
        ),
        pytest.param({"api_key": ""}, "it is empty: give the key", id="an empty key"),
        pytest.param({"api_key": SecretStr(" \n")}, "it is empty: give the key", id="a secret of blanks"),
        pytest.param({"api_key": "sk-1\nsk-2"}, "api_key cannot be sent", id="a key of two lines"),
        pytest.param({"api_key": "sk-ü"}, "it holds .* non-ASCII: give", id="a key that no header carries"),
        pytest.param(
            {"api_key": "k", "credential": "c", "secrets": Vault()}, "give one of them", id="two keys"
        ),
        pytest.param({"credential": "c"}, "give secrets= as well", id="a name that nobody resolves"),
        pytest.param({"secrets": Vault()}, "nothing: give credential=", id="a vault without a name"),
        pytest.param(
            {"api_key": "k", "secrets": Vault()}, "asked for nothing", id="a vault beside a fixed key"
        ),
        pytest.param({"credential": "", "secrets": Vault()}, "credential is empty", id="an empty name"),
        pytest.param(
            {"headers": {"a b": "x"}}, "'a b' is no name of a header", id="a name that is no header"
        ),
        pytest.param({"headers": {"x-a": "1\r\nx-b: 2"}}, "x-a holds CR", id="a header that becomes two"),
        pytest.param({"auth_header": "x key"}, "'x key' is no name", id="a key in no header"),
        pytest.param({"provider": ""}, "give 1 to 64", id="no name for the provider"),
        pytest.param({"provider": "x" * 65}, "give 1 to 64", id="a long name for the provider"),
        pytest.param({"dialect": "martian"}, "give one of openai, azure", id="an unknown dialect"),
    ],
)
def test_a_bad_argument_says_the_fix(arguments: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says) as refused:
        OpenAICompatibleClient(**(OF_ONE | arguments))
    assert "pw" not in str(refused.value)
    assert "sk-" not in str(refused.value)


@pytest.mark.parametrize("key", ["sk-secret", SecretStr("sk-secret")], ids=["a text", "a secret"])
def test_it_shows_where_it_goes_and_no_secret(key: str | SecretStr) -> None:
    client = OpenAICompatibleClient(
        base_url=f"{URL}/", api_key=key, headers={"x-key": "sk-2"}, query={"key": "sk-3"}
    )
    assert repr(client) == f"OpenAICompatibleClient(base_url={URL!r}, provider='api.example.com')"
    assert "sk-secret" not in str(vars(client))


@pytest.mark.parametrize(
    ("arguments", "provider"),
    [
        pytest.param({"base_url": "https://API.OpenAI.com/v1"}, "openai", id="a known host"),
        pytest.param({"base_url": "http://127.0.0.1:8000/v1"}, "127.0.0.1", id="an address"),
        pytest.param({"base_url": "http://[::1]:8000/v1"}, "::1", id="an address of another kind"),
        pytest.param({"base_url": URL, "dialect": "mistral"}, "mistral", id="a dialect by its name"),
        pytest.param({"base_url": URL, "dialect": DIALECTS["xai"]}, "xai", id="a dialect itself"),
        pytest.param({"base_url": URL, "provider": "us"}, "us", id="as stated"),
        pytest.param(
            {"base_url": f"https://{'a' * 60}.example.com"},
            f"{'a' * 35}.example.com~43c9a14c2b264b70",
            id="a long host",
        ),
    ],
)
def test_a_provider_has_a_short_stable_name(arguments: dict[str, Any], provider: str) -> None:
    assert OpenAICompatibleClient(**arguments).provider == provider


def test_capabilities_are_those_stated_else_those_of_the_provider() -> None:
    special = ModelCapabilities(reasoning=True, context_window=7)
    client = OpenAICompatibleClient(base_url=URL, dialect="openai", capabilities={"o9": special})
    assert client.capabilities("o9") is special
    assert client.capabilities("o9-mini") == DIALECTS["openai"].capabilities


def test_it_makes_a_transport_of_its_own_or_takes_the_one_given() -> None:
    given = HttpTransport()
    assert OpenAICompatibleClient(base_url=URL, transport=given).transport is given
    assert isinstance(OpenAICompatibleClient(base_url=URL).transport, HttpTransport)


# --- the models of a provider --------------------------------------------------------------------------


async def test_it_knows_the_models_that_the_provider_lists() -> None:
    async with serving(api_key="sk-1", query={"api-version": "1"}) as (stub, client):
        stub.on(
            "GET",
            "/v1/models",
            Reply(json={"data": [{"id": "a", "owned_by": "x"}, {"name": "c"}, 5, {"id": "b"}]}),
        )
        assert await client.known_models(context()) == ("a", "b")
        (seen,) = stub.requests
        assert (seen.params, seen.headers["authorization"]) == ([("api-version", "1")], "Bearer sk-1")


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(Reply(status=404, json={"data": [{"id": "a"}]}), id="a refusal"),
        pytest.param(Reply(body=b"<html>"), id="no JSON"),
        pytest.param(Reply(json=["a"]), id="another document"),
        pytest.param(Reply(json={"data": [{"name": "a"}]}), id="models without ids"),
        pytest.param(Reply(body=b"[" * 100_000), id="endless nesting"),
        pytest.param(Reply(json={"data": [{"id": "a" * 2 * 1024 * 1024}]}), id="over two MiB"),
    ],
)
async def test_it_knows_no_models_where_the_provider_cannot_say(reply: Reply) -> None:
    async with serving() as (stub, client):
        stub.on("GET", "/v1/models", reply)
        assert await client.known_models(context()) == ()


async def test_it_knows_no_models_without_a_key_or_a_server() -> None:
    async with serving(credential="main", secrets=Vault()) as (_, client):
        assert await client.known_models(context()) == ()
    assert await client.known_models(context()) == ()


async def test_models_that_may_not_be_asked_for_are_refused_as_such() -> None:
    async with serving(scope=Scope(tenant="acme")) as (stub, client):
        with pytest.raises(AccessDenied):
            await client.known_models(context("globex"))
        assert not stub.requests


# --- how the transport is used -------------------------------------------------------------------------


class NoTransport(HttpTransport):
    """Notes what it was asked for in place of doing it."""

    def stream(self, *arguments: Any, **keywords: Any) -> Any:
        self.arguments, self.keywords = arguments, keywords
        raise AccessDenied("everything", "this is no transport")


@pytest.mark.parametrize(("idle", "read"), [(0.0, None), (300.0, 300.0)], ids=["without a limit", "with one"])
async def test_a_stream_has_its_timeouts_and_its_cap(idle: float, read: float | None) -> None:
    transport = NoTransport()
    with pytest.raises(AccessDenied):
        await heard(OpenAICompatibleClient(base_url=URL, transport=transport), asked(idle=idle))
    keywords = transport.keywords
    assert transport.arguments == ("POST", f"{URL}/chat/completions")
    assert keywords["timeouts"] == HttpTimeouts(connect=10, write=30, pool=None, read=read)
    assert keywords["max_response_bytes"] == 256 * 1024 * 1024
    assert (keywords["purpose"], keywords["scope"]) == ("model", Scope(tenant="acme"))
    assert keywords["configured"] == ("https://api.example.com:443",)
