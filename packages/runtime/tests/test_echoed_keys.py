"""A secret that a provider says back: in no error, and in no name that is recorded with an answer."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from packages.runtime.tests.chat_chunks import ERRORS, choice, events_of, finish, text
from packages.runtime.tests.client_scenes import EVENT_STREAM, Vault, event, failing, heard, serving, streamed
from psych_runtime.model.errors.replies import CallErrors, error_of_reply
from psych_runtime.model.errors.words import cleaned, masked
from psych_runtime.testing.http_stub import Reply
from psych_runtime_core.errors import ModelError, ModelErrorKind
from psych_runtime_core.ports.model import ModelCallContext, StreamDone

KEY = "sk-SECRET-1234567890"
HIDING = CallErrors(provider="openai", model="gpt-5", secrets=(KEY,))

CASES: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "in small letters": str.lower,
    "in capitals": str.upper,
    "in both": str.swapcase,
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_an_echo_is_masked_in_whatever_case(case: Callable[[str], str]) -> None:
    assert masked(f"a {case(KEY)} b", (KEY,)) == "a *** b"
    assert cleaned(f"key: {case(KEY[:5])}\x00{case(KEY[5:])}", (KEY,)) == "key: ***"
    body = json.dumps({"error": {"message": f"bad {case(KEY)}", "code": case(KEY)}}).encode()
    found = error_of_reply(401, {"x-request-id": case(KEY)}, body, HIDING)
    assert KEY.lower() not in f"{found!r} {vars(found)}".lower()


@pytest.mark.parametrize(
    "location",
    [f"http://{KEY}/", f"https://user:{KEY}@{KEY}.example/x", f"HTTP://{KEY.upper()}:80"],
    ids=["the host", "a part of it", "in capitals"],
)
def test_a_redirect_shows_no_secret_in_its_host(location: str) -> None:
    found = error_of_reply(302, {"location": location}, b"", HIDING)
    assert KEY.lower() not in found.message.lower()
    assert "***" in found.message


@pytest.mark.parametrize(
    "word", ["Σ", "ΑΣ", "straße-key", "İstanbul-key", "\u212a-kelvin", "a.b*c?[d]"], ids=ascii
)
def test_a_secret_of_any_letters_is_masked(word: str) -> None:
    assert word not in masked(f"x{word}x{word}Α", (word,))


def test_no_piece_of_a_secret_is_left_at_the_cut_of_a_long_text() -> None:
    for size in range(65_500, 65_560):
        tail = "<i>" * (size // 3) + "." * (size % 3) + KEY * 9 + "x" * 100
        assert "sk" not in cleaned(tail, (KEY,)).lower()


# --- answers --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
async def test_the_end_of_an_answer_names_no_secret(case: Callable[[str], str]) -> None:
    told = f"x-{case(KEY)}"
    said = {"id": told, "model": told, "service_tier": told, "usage": {"cost": 1}}
    reply = streamed(event({**choice(delta={"content": "x"}, finish_reason=told), **said}))
    async with serving(reply, api_key=KEY) as (_, client):
        done = (await heard(client))[-1]
    assert isinstance(done, StreamDone)
    names = (done.raw_finish_reason, done.served_model, done.response_id, done.service_tier)
    assert names == ("x-***",) * 4
    assert done.cost is not None
    assert done.cost.model == "x-***"


def test_a_short_secret_may_stand_in_a_name_by_chance() -> None:
    assert (
        CallErrors(provider="p", model="m", secrets=("ollama", "")).masked("ollama/llama4") == "ollama/llama4"
    )
    assert CallErrors(provider="p", model="m", secrets=("12345678",)).masked("id-12345678") == "id-***"


# --- all that a client sends ----------------------------------------------------------------------------


def made(where: ModelCallContext) -> dict[str, str]:
    return {"x-key": KEY}


SENT: dict[str, dict[str, Any]] = {
    "the key": {"api_key": KEY},
    "a key that was looked up": {"credential": "main", "secrets": Vault(acme=KEY)},
    "a header": {"headers": {"x-key": KEY}},
    "a header with a scheme": {"headers": {"Proxy-Authorization": f"Basic {KEY}"}},
    "a header that is made for each call": {"headers": made},
    "a query": {"query": {"key": KEY}},
}


@pytest.mark.parametrize("options", SENT.values(), ids=SENT)
async def test_nothing_that_was_sent_as_a_secret_comes_back(options: dict[str, Any]) -> None:
    echo = {"error": {"message": f"bad key {KEY.lower()}", "code": KEY}}
    answer = streamed(event({**choice(delta={"content": "x"}), "id": KEY}), event(finish(KEY)))
    async with serving(Reply(status=401, json=echo), answer, **options) as (_, client):
        _, error = await failing(client)
        done = (await heard(client))[-1]
    assert error.message.startswith("bad key *** (")
    for shown in (f"{error!r} {vars(error)}", repr(done)):
        assert KEY.lower() not in shown.lower()


async def test_what_is_no_secret_is_told_as_it_is() -> None:
    options: dict[str, Any] = {"query": {"api-version": "2025-01-01"}, "headers": {"Accept": "text/html"}}
    refusal = Reply(status=404, json={"error": {"message": "no api version 2025-01-01 as text/html"}})
    async with serving(refusal, **options) as (_, client):
        _, error = await failing(client)
    assert error.message.startswith("no api version 2025-01-01 as text/html (")


async def test_no_error_leads_to_what_was_received() -> None:
    reply = Reply(headers={**EVENT_STREAM, "content-encoding": KEY}, body=b"x")
    async with serving(reply, api_key=KEY) as (_, client):
        _, error = await failing(client)
    assert (error.__cause__, error.__context__) == (None, None)
    assert KEY not in f"{error!r} {vars(error)}"


# --- codes ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "word", ["e" + "-" * 400 + "rror", "ERROR" + "_" * 200_000, "abort" + " " * 300], ids=len
)
def test_a_code_is_no_longer_than_a_record_keeps_it(word: str) -> None:
    with pytest.raises(ModelError) as caught:
        events_of(text("x"), finish(word))
    assert caught.value.code is not None
    assert 1 <= len(caught.value.code) <= 128
    assert len(caught.value.message) <= 8_192


@pytest.mark.parametrize(
    ("code", "kept"), [("idle", 4), ("c" * 128, 128), ("c" * 129, 128), (None, 0), ("", 0)], ids=repr
)
def test_a_code_of_ours_is_kept_and_a_long_one_is_cut(code: str | None, kept: int) -> None:
    assert len(ERRORS.of_ours(ModelErrorKind.TRANSIENT, "x", code=code).code or "") == kept
