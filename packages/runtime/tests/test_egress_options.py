"""What the keywords of the transport say to who gets them wrong: in the words of the caller."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from packages.runtime.tests.egress_scenes import ANN, ASKED
from psych_runtime.egress.transport import HttpTransport
from psych_runtime.testing.http_stub import HttpStub, Reply

URL = "https://api.example.com/"

WRONG = [
    pytest.param(
        {"timeout": 5}, TypeError, "timeout= is no option here; these are: auth, ", id="an unknown one"
    ),
    pytest.param({"scope": "acme"}, TypeError, "scope is a str: give a Scope", id="a text as scope"),
    pytest.param({"scope": None}, TypeError, "scope is a NoneType: give a Scope", id="no scope"),
    pytest.param(
        {"purpose": "mine"}, ValueError, "purpose='mine' is none: give one of model, ", id="a purpose"
    ),
    pytest.param(
        {"timeouts": 5}, TypeError, "timeouts is a int: give HttpTimeouts(", id="a number as timeouts"
    ),
    pytest.param(
        {"credential": "crm"}, TypeError, "credential is a str: give a Cred", id="a name as credential"
    ),
    pytest.param(
        {"configured": URL},
        TypeError,
        f"configured is one text: write configured=({URL!r},)",
        id="one origin",
    ),
]


def client(transport: HttpTransport, options: dict[str, Any]) -> object:
    return transport.client(options.pop("scope"), **options)


def stream(transport: HttpTransport, options: dict[str, Any]) -> object:
    return transport.stream("GET", URL, **options)


async def request(transport: HttpTransport, options: dict[str, Any]) -> object:
    return await transport.request("GET", URL, **options)


@pytest.mark.parametrize(("given", "error", "told"), WRONG)
@pytest.mark.parametrize("way", [client, stream, request])
async def test_a_wrong_option_is_told_with_what_to_give(
    way: Callable[[HttpTransport, dict[str, Any]], Any],
    given: dict[str, Any],
    error: type[Exception],
    told: str,
) -> None:
    with pytest.raises(error, match=re.escape(told)) as fault:
        await way(HttpTransport(), {**ASKED, **given})
    assert "__init__" not in str(fault.value)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        pytest.param("scope", "scope= is missing: give a Scope, such as Scope(tenant='acme')", id="for whom"),
        pytest.param("purpose", "purpose= is missing: give one of model, tool, mcp", id="what for"),
    ],
)
async def test_a_missing_option_is_named(name: str, told: str) -> None:
    options = {key: value for key, value in ASKED.items() if key != name}
    with pytest.raises(TypeError, match=re.escape(told)):
        await HttpTransport().request("GET", URL, **options)


def test_a_client_takes_nothing_of_a_single_request() -> None:
    options: dict[str, Any] = {"purpose": "tool", "params": {"q": "x"}}
    with pytest.raises(TypeError, match="params= is no option here"):
        HttpTransport().client(ANN, **options)


async def test_authorize_is_asked_for_a_scope_too() -> None:
    options: dict[str, Any] = {**ASKED, "scope": "acme"}
    with pytest.raises(TypeError, match="scope is a str"):
        await HttpTransport().authorize("GET", URL, **options)


async def test_none_stands_for_what_was_left_out(stub: HttpStub) -> None:
    stub.on("GET", "/", Reply(json={"ok": True}))
    options: dict[str, Any] = {**ASKED, "timeouts": None, "credential": None, "headers": None}
    response = await HttpTransport().request("GET", stub.url, configured=(stub.url,), **options)
    assert response.status_code == 200
