"""No secret that a call looked up stands in what it brought back."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from packages.runtime.tests.http_scenes import context_in, runtime_of
from psych_runtime.secrets.in_memory import InMemorySecretResolver
from psych_runtime.secrets.masks import NO_MASKS, Masks
from psych_runtime.tools.context import secrets_of
from psych_runtime.tools.convert import Converted, convert
from psych_runtime.tools.failures import CallFailed, failure_of, told_failure_of
from psych_runtime.tools.output import File, ToolOutput
from psych_runtime_core.engine import wording
from psych_runtime_core.errors import CredentialNotFound
from psych_runtime_core.jsonvalue import encode_json, freeze
from psych_runtime_core.records.facts import ToolFailure
from psych_runtime_core.scope import Scope

SECRET = "s3cret-value"
SHOWN = ["[secret:crm]", "[secret:crm] (2)", "[secret:crm] (3)", "a"]
MASKS = Masks({SECRET: "crm", "12345678": "pin", "s3cret-value-long": "long", "seven77": "short"})


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("", ""),
        ("nothing", "nothing"),
        (SECRET, "[secret:crm]"),
        (f"a {SECRET}{SECRET} b", "a [secret:crm][secret:crm] b"),
        ("s3cret-value-long", "[secret:long]"),
        ("s3cret-value-lon", "[secret:crm]-lon"),
        ("S3CRET-VALUE", "[secret:crm]"),
        ("seven77", "seven77"),
    ],
)
def test_a_secret_gives_way_to_its_name(text: str, masked: str) -> None:
    assert MASKS.text(text) == masked
    assert MASKS.data(text.encode()) == masked.encode()


@pytest.mark.parametrize(
    ("value", "masked"),
    [
        (SECRET, "[secret:crm]"),
        ({"a": [f"Bearer {SECRET}"], SECRET: None}, {"a": ["Bearer [secret:crm]"], "[secret:crm]": None}),
        (12345678, "[secret:pin]"),
        ([112345678.5, 1234567, True, None], ["1[secret:pin].5", 1234567, True, None]),
    ],
)
def test_a_value_is_masked_wherever_a_secret_stands(value: Any, masked: Any) -> None:
    assert MASKS.json(freeze(value)) == masked
    converted = convert(value, MASKS)
    assert isinstance(converted, Converted)
    assert (converted.value, converted.encoded) == (masked, encode_json(masked))


@pytest.mark.parametrize(
    ("value", "masked"),
    [
        pytest.param(
            {SECRET: 1, SECRET.upper(): 2, SECRET.title(): 3},
            {"[secret:crm]": 1, "[secret:crm] (2)": 2, "[secret:crm] (3)": 3},
            id="one secret in several spellings",
        ),
        pytest.param(
            {SECRET: 1, "[secret:crm] (2)": 2, SECRET.upper(): 3, "[secret:crm]": 4, "a": 5},
            {"[secret:crm] (3)": 1, "[secret:crm] (2)": 2, "[secret:crm] (4)": 3, "[secret:crm]": 4, "a": 5},
            id="beside names that look like masks",
        ),
        pytest.param(
            [{"a": {SECRET: 1}, "b": {SECRET: 2}}],
            [{"a": {"[secret:crm]": 1}, "b": {"[secret:crm]": 2}}],
            id="each in an object of its own",
        ),
    ],
)
def test_no_member_is_lost_where_names_are_masked_alike(value: Any, masked: Any) -> None:
    assert MASKS.json(freeze(value)) == masked


@given(st.dictionaries(st.sampled_from([SECRET, SECRET.upper(), SECRET.title(), *SHOWN]), st.integers()))
def test_a_masked_value_has_as_many_members_as_there_were(value: dict[str, int]) -> None:
    masked: Any = MASKS.json(freeze(value))
    assert sorted(masked.values()) == sorted(value.values())
    assert all(masked[name] == value[name] for name in SHOWN if name in value)


def test_a_file_is_masked_in_name_and_bytes() -> None:
    file = File(f"{SECRET}.txt", "text/plain", b"\xff" + SECRET.encode() + b"\x00")
    converted = convert(ToolOutput(None, (file,)), MASKS)
    assert isinstance(converted, Converted)
    assert converted.files == (File("[secret:crm].txt", "text/plain", b"\xff[secret:crm]\x00"),)


def test_a_name_that_grew_is_cut_to_what_a_file_may_have() -> None:
    file = File("12345678" * 31, "text/plain", b"")
    converted = convert(file, MASKS)
    assert isinstance(converted, Converted)
    assert len(converted.files[0].name) == 255


def raised(error: Exception) -> Exception:
    try:
        raise error
    except Exception as caught:
        return caught


def test_a_failure_is_masked_in_its_words_and_its_traceback() -> None:
    failure = failure_of(raised(ValueError(f"refused {SECRET}")), MASKS)
    assert failure.message == "refused [secret:crm]"
    assert failure.traceback is not None
    assert "refused [secret:crm]" in failure.traceback
    assert SECRET not in failure.model_dump_json()


def test_words_are_masked_before_they_are_cut() -> None:
    failure = failure_of(ValueError("x" * (8_192 - 5) + SECRET), MASKS)
    assert "s3cre" not in failure.message


def test_a_failure_of_our_own_kind_keeps_its_words_and_shows_where_it_came_from() -> None:
    own = CallFailed(ToolFailure(kind="http_error", message=f"it said {SECRET}"))
    own.__cause__ = raised(OSError(SECRET))
    told = told_failure_of(own, MASKS)
    assert (told.kind, told.message) == ("http_error", "it said [secret:crm]")
    assert told.traceback is not None
    assert "OSError: [secret:crm]" in told.traceback


def test_a_tool_without_its_credential_says_so_whoever_it_is() -> None:
    for error in (
        CredentialNotFound(Scope(tenant="acme"), "crm"),
        ExceptionGroup("g", [CredentialNotFound(Scope(tenant="acme"), "crm")]),
    ):
        told = told_failure_of(raised(error), NO_MASKS)
        assert (told.kind, told.message) == ("credential_not_found", wording.credential_not_found("crm"))
        assert not told.transient


@given(st.text(), st.text(min_size=8), st.text(min_size=8))
def test_no_text_holds_a_secret(text: str, one: str, other: str) -> None:
    masks = Masks({one: "", other: ""})
    masked = masks.text(text + one + text + other + text)
    for part in masked.split("[secret:]"):
        assert one not in part
        assert other not in part


# --- what a call asks for --------------------------------------------------------------------------------


async def test_a_tool_gets_secrets_by_name_and_the_call_knows_what_to_hide() -> None:
    resolver = InMemorySecretResolver({("acme", "crm"): SECRET, ("acme", "ann", "erp"): "another-value"})
    context = context_in(runtime_of(secrets=resolver))
    assert secrets_of(context).masks.text(SECRET) == SECRET
    assert await context.secret("crm") == SecretStr(SECRET)
    assert (await context.secret("erp")).get_secret_value() == "another-value"
    assert secrets_of(context).masks.text(f"{SECRET} another-value") == "[secret:crm] [secret:erp]"


async def test_a_secret_that_was_rotated_while_a_call_ran_is_hidden_before_and_after() -> None:
    resolver = InMemorySecretResolver({("acme", "crm"): SECRET})
    context = context_in(runtime_of(secrets=resolver))
    await context.secret("crm")
    resolver.put(Scope(tenant="acme"), "crm", "rotated-value")
    assert (await context.secret("crm")).get_secret_value() == "rotated-value"
    assert secrets_of(context).masks.text(f"{SECRET} rotated-value") == "[secret:crm] [secret:crm]"


@pytest.mark.parametrize(
    "resolver", [None, InMemorySecretResolver(), InMemorySecretResolver({("globex", "crm"): SECRET})]
)
async def test_without_one_the_name_is_told_and_nothing_else(resolver: InMemorySecretResolver | None) -> None:
    context = context_in(runtime_of(secrets=resolver))
    with pytest.raises(CredentialNotFound, match="credential 'crm' is not set for this tenant"):
        await context.secret("crm")


async def test_two_calls_know_nothing_of_each_others_secrets() -> None:
    runtime = runtime_of(secrets=InMemorySecretResolver({("acme", "crm"): SECRET}))
    one, other = context_in(runtime), context_in(runtime)
    await one.secret("crm")
    assert secrets_of(other).masks.text(SECRET) == SECRET


# --- the resolver in memory ------------------------------------------------------------------------------


async def test_a_removed_secret_is_gone() -> None:
    resolver = InMemorySecretResolver({("acme", "crm"): SecretStr(SECRET)})
    resolver.remove(Scope(tenant="acme"), "crm")
    resolver.remove(Scope(tenant="acme"), "crm")
    assert await resolver.resolve(Scope(tenant="acme"), "crm") is None


def test_an_empty_secret_is_refused() -> None:
    with pytest.raises(ValueError, match="the secret 'crm' is empty"):
        InMemorySecretResolver({("acme", "crm"): ""})
