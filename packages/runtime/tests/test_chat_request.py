"""The fields of a body, its tools, its answer's form, and what is never sent."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from packages.runtime.tests.chat_bodies import PNG, encoded, request, terms, tool
from psych_runtime.model.chat.request import encode
from psych_runtime.model.chat.request.limits import Unsendable, check_body
from psych_runtime.model.chat.request.strict_schema import is_strict
from psych_runtime_core.jsonvalue import Json
from psych_runtime_core.messages import ImagePart, Media, Message, SystemMessage, ToolDefinition, UserMessage
from psych_runtime_core.spec.model import REQUEST_KEYS

MIB = 1024 * 1024
MESSAGES = '"messages":[{"role":"user","content":"hi"}]}'
STREAMED = '{"model":"m-1","stream":true,"stream_options":{"include_usage":true},'


def body(fields: Mapping[str, Any], dialect: str = "openai", key: str | None = None) -> str:
    return encoded(request(**fields), terms(dialect), key).decode()


@pytest.mark.parametrize(
    ("fields", "between"),
    [
        pytest.param({}, "", id="nothing stated, nothing sent"),
        pytest.param({"temperature": 0}, '"temperature":0,', id="zero is stated"),
        pytest.param({"temperature": 1.0}, '"temperature":1,', id="equal numbers have equal bytes"),
        pytest.param({"top_p": 0.1}, '"top_p":0.1,', id="top_p"),
        pytest.param({"max_output_tokens": 7}, '"max_completion_tokens":7,', id="a limit of tokens"),
        pytest.param({"stop": ("a", "ü")}, '"stop":["a","ü"],', id="stop texts"),
        pytest.param({"reasoning_effort": "none"}, '"reasoning_effort":"none",', id="no effort is an effort"),
        pytest.param({"tool_choice": "required"}, "", id="a choice of tools without tools"),
        pytest.param({"parallel_tool_calls": True}, "", id="parallel calls without tools"),
        pytest.param(
            {"options": {"seed": 1, "logit_bias": {"b": 1.0, "a": 2}}},
            '"logit_bias":{"a":2,"b":1},"seed":1,',
            id="options by name",
        ),
        pytest.param({"options": {'"quoted"': None}}, '"\\"quoted\\"":null,', id="an option of any name"),
    ],
)
def test_what_is_stated_stands_in_its_place(fields: Mapping[str, Any], between: str) -> None:
    assert body(fields) == STREAMED + between + MESSAGES


@pytest.mark.parametrize("key", sorted(REQUEST_KEYS))
def test_an_option_cannot_replace_what_the_request_sets_itself(key: str) -> None:
    with pytest.raises(ValueError, match=key):
        request(options={key: 1})


def test_an_option_replaces_what_the_dialect_sends_unasked() -> None:
    assert '"usage":{"include":false},' in body({"options": {"usage": {"include": False}}}, "openrouter")


@pytest.mark.parametrize(
    ("dialect", "cache", "sent"),
    [
        pytest.param("openai", "auto", True, id="where the provider takes one"),
        pytest.param("openai", "off", False, id="not when caching is off"),
        pytest.param("groq", "auto", False, id="not where it is unknown"),
    ],
)
def test_the_key_of_the_cache_goes_along(dialect: str, cache: str, sent: bool) -> None:
    assert ('"prompt_cache_key":"root",' in body({"prompt_cache": cache}, dialect, "root")) is sent


# --- tools ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("choice", "field"),
    [
        pytest.param("auto", "", id="auto is left out"),
        pytest.param("none", '"tool_choice":"none",', id="none"),
        pytest.param("required", '"tool_choice":"required",', id="required"),
        pytest.param("look", '"tool_choice":{"type":"function","function":{"name":"look"}},', id="a name"),
    ],
)
def test_a_choice_of_tools_is_stated_when_it_is_one(choice: str, field: str) -> None:
    sent = body({"tools": (tool(),), "tool_choice": choice})
    assert sent.startswith(STREAMED + field + '"tools":')


@pytest.mark.parametrize(
    ("parameters", "strict", "function"),
    [
        pytest.param({}, False, '"parameters":{"properties":{},"type":"object"}', id="no parameters"),
        pytest.param(
            {"required": ["b"], "properties": {"b": {"type": "string", "default": "ü"}, "a": {}}},
            False,
            '"parameters":{"properties":{"a":{},"b":{"default":"ü","type":"string"}},"required":["b"],'
            '"type":"object"}',
            id="keys sorted at every depth, lists left alone",
        ),
        pytest.param(
            {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "urn:x", "type": "object"},
            True,
            '"parameters":{"properties":{},"type":"object"},"strict":true',
            id="a document's own keys are dropped, strict is stated",
        ),
        pytest.param(
            {"$id": "urn:x", "properties": {"a": {"$ref": "urn:x"}}},
            False,
            '"parameters":{"$id":"urn:x","properties":{"a":{"$ref":"urn:x"}},"type":"object"}',
            id="its name stays where a reference is resolved by it",
        ),
        pytest.param(
            {"properties": {"$id": {"type": "string"}}},
            False,
            '"parameters":{"properties":{"$id":{"type":"string"}},"type":"object"}',
            id="a parameter may be called $id",
        ),
    ],
)
def test_a_tool_is_written_in_one_form(parameters: Mapping[str, Json], strict: bool, function: str) -> None:
    offered = ToolDefinition(name="f", description="d", parameters=parameters, strict=strict)
    written = '"tools":[{"type":"function","function":{"name":"f","description":"d",' + function + "}}],"
    assert written in body({"tools": (offered,)})


def test_tools_are_written_once_each_however_many_requests_offer_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    written: list[str] = []
    write = encode._tool  # pyright: ignore[reportPrivateUsage]  # the one place where a tool is written

    def counted(definition: ToolDefinition) -> bytes:
        written.append(definition.name)
        return write(definition)

    monkeypatch.setattr(encode, "_tool", counted)
    tools = tuple(tool(f"t{n}") for n in range(351))
    bodies = {encoded(request(tools=tools)) for _ in range(3)}
    later = encoded(request(tools=(*tools, tool("later"))))
    assert (len(bodies), len(written), later.count(b'"function":')) == (1, 352, 352)


# --- the form of the answer ----------------------------------------------------------------------------

CLOSED: dict[str, Any] = {
    "type": "object",
    "properties": {"n": {"type": "integer"}},
    "required": ["n"],
    "additionalProperties": False,
}


def test_a_schema_that_is_not_strict_is_sent_as_it_is() -> None:
    open_schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    sent = json.loads(body({"output_schema": open_schema}))["response_format"]
    assert sent == {"type": "json_schema", "json_schema": {"name": "answer", "schema": open_schema}}


@pytest.mark.parametrize(
    ("schema", "strict"),
    [
        pytest.param(CLOSED, True, id="closed, all required"),
        pytest.param({**CLOSED, "additionalProperties": True}, False, id="open"),
        pytest.param({**CLOSED, "required": []}, False, id="a property that may be missing"),
        pytest.param({"type": "array", "items": CLOSED}, False, id="a root that is no object"),
        pytest.param(
            {**CLOSED, "properties": {"n": {"type": "array", "items": CLOSED}}}, True, id="in a list"
        ),
        pytest.param(
            {**CLOSED, "properties": {"n": {"type": "array", "items": {"type": "object"}}}},
            False,
            id="an open object in a list",
        ),
        pytest.param({**CLOSED, "properties": {"n": {}}}, False, id="a property of any kind"),
        pytest.param({**CLOSED, "properties": {"n": True}}, False, id="a property that is true"),
        pytest.param(
            {**CLOSED, "properties": {"n": {"$ref": "#/$defs/n"}}, "$defs": {"n": CLOSED}},
            True,
            id="a definition",
        ),
        pytest.param({**CLOSED, "$defs": {"n": {"type": "object"}}}, False, id="an open definition"),
        pytest.param(
            {**CLOSED, "properties": {"n": {"anyOf": [CLOSED, {"type": "null"}]}}}, True, id="one of several"
        ),
        pytest.param(
            {**CLOSED, "properties": {"n": {"type": ["object", "null"]}}}, False, id="an open object or null"
        ),
        pytest.param({**CLOSED, "properties": {"n": {"enum": ["a"]}}}, True, id="one of some values"),
        pytest.param({**CLOSED, "properties": {"n": {"type": "array"}}}, False, id="a list of anything"),
        pytest.param(
            {**CLOSED, "properties": {"n": {"type": ["array", "null"]}}},
            False,
            id="a list of anything, or null",
        ),
        pytest.param({**CLOSED, "$defs": {"n": {"type": "array"}}}, False, id="a list of anything, defined"),
        pytest.param(
            {**CLOSED, "properties": {"n": {"type": "array", "prefixItems": [CLOSED]}}},
            False,
            id="a list that goes on with anything",
        ),
        pytest.param(
            {
                **CLOSED,
                "properties": {"n": {"type": "array", "items": CLOSED, "contains": {"type": "object"}}},
            },
            False,
            id="an open object that a list contains",
        ),
        pytest.param({**CLOSED, "if": {"type": "object"}, "then": CLOSED}, False, id="a condition"),
        pytest.param({**CLOSED, "patternProperties": {"^x": CLOSED}}, False, id="properties by pattern"),
        pytest.param({**CLOSED, "properties": {"n": {"$ref": "#"}}}, True, id="itself"),
        pytest.param(
            {**CLOSED, "properties": {"n": {"$ref": "#/parts/n"}}, "parts": {"n": {"type": "object"}}},
            False,
            id="a definition where nobody looks",
        ),
    ],
)
def test_strict_is_a_schema_that_leaves_nothing_open(schema: Mapping[str, Any], strict: bool) -> None:
    assert is_strict(schema) is strict
    assert ('"strict":true' in body({"output_schema": schema})) is strict


@pytest.mark.parametrize(
    ("dialect", "tools", "words"),
    [
        pytest.param("other", 0, "cannot bind an answer to a schema.", id="no structured output at all"),
        pytest.param("mistral", 1, "to a schema while tools are offered.", id="none beside tools"),
        pytest.param("deepseek", 1, "to a schema while tools are offered.", id="no JSON beside tools"),
    ],
)
def test_a_schema_that_cannot_be_asked_for_is_not_sent(dialect: str, tools: int, words: str) -> None:
    with pytest.raises(Unsendable, match=words) as refused:
        body({"output_schema": CLOSED, "tools": (tool(),) * tools}, dialect)
    assert refused.value.code == "unsupported_output"


# --- limits --------------------------------------------------------------------------------------------


def image(size: int) -> ImagePart:
    return ImagePart(media=Media(media_type="image/png", data=bytes(size)))


def of_system(over: int) -> tuple[Message, ...]:
    return SystemMessage(content="ü" * (MIB // 2) + "x" * over), UserMessage(content="hi")


def of_one_picture(over: int) -> tuple[Message, ...]:
    return (UserMessage(content=(image(20 * MIB + over),)),)


def of_pictures(over: int) -> tuple[Message, ...]:
    return tuple(UserMessage(content=(ImagePart(media=PNG),)) for _ in range(50 + over))


@pytest.mark.parametrize("said", [of_system, of_one_picture, of_pictures])
def test_a_request_at_its_limit_is_sent_and_one_beyond_it_never(
    said: Callable[[int], tuple[Message, ...]],
) -> None:
    assert encoded(said(0))
    with pytest.raises(Unsendable) as refused:
        encoded(said(1))
    assert refused.value.code == "request_too_large"


def test_a_body_beyond_its_limit_is_never_sent() -> None:
    check_body(64 * MIB)
    with pytest.raises(Unsendable, match="67108864") as refused:
        encoded([UserMessage(content="x" * 64 * MIB)])
    assert refused.value.code == "request_too_large"
