"""Q11, Q12, Q16 to Q19: tools, arguments, options, the form of the answer, cache marks, forced choice."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from psych_runtime_contract.model.corpus.requests.case import (
    ASKED,
    BEGIN,
    LOOK,
    TOOL,
    RequestCase,
    answer,
    call,
    request,
    result,
)
from psych_runtime_core.messages import SystemMessage, ToolDefinition

HERE = f'"messages":[{ASKED}]}}'
WITH_LOOK = f'"tools":[{TOOL}],{HERE}'


def _tools() -> Iterator[RequestCase]:
    rest = ToolDefinition(name="rest", description="Rests.", parameters={})
    bare = '"parameters":{"properties":{},"type":"object"}'
    resting = f'{{"type":"function","function":{{"name":"rest","description":"Rests.",{bare}}}}}'
    strict = LOOK.model_copy(
        update={"strict": True, "parameters": {"$schema": "urn:s", "$id": "urn:i", "type": "object"}}
    )
    named = '"name":"look","description":"Looks there."'
    strictly = f'{{"type":"function","function":{{{named},{bare},"strict":true}}}}'
    offers: dict[str, tuple[tuple[ToolDefinition, ...], str]] = {
        "without parameters": ((rest,), resting),
        "in their order": ((rest, LOOK), f"{resting},{TOOL}"),
        "strict, a document's keys dropped": ((strict,), strictly),
    }
    for name, (tools, written) in offers.items():
        body = f'{BEGIN}"tools":[{written}],{HERE}'
        yield RequestCase(id=f"Q11.{name}", dialect="other", request=request(tools=tools), body=body)


def _arguments() -> Iterator[RequestCase]:
    # As the model wrote them, and as they stand in the text of the body.
    spellings = {
        "none": ("", "{}"),
        "blank": (" \n", "{}"),
        "an object, to the byte": ('{ "at" : 1.50, "at": 2 }', r"{ \"at\" : 1.50, \"at\": 2 }"),
        "a list": ("[1]", r"{\"malformed_arguments\":\"[1]\"}"),
        "encoded twice": ('"{}"', r"{\"malformed_arguments\":\"\\\"{}\\\"\"}"),
        "cut": ('{"at":', r"{\"malformed_arguments\":\"{\\\"at\\\":\"}"),
        "NaN": ('{"at":NaN}', r"{\"malformed_arguments\":\"{\\\"at\\\":NaN}\"}"),
        "trailing text": ("{} Done.", r"{\"malformed_arguments\":\"{} Done.\"}"),
        "over 2,000 characters": ("ü" * 2_001, r"{\"malformed_arguments\":\"" + "ü" * 2_000 + r"\"}"),
    }
    for name, (raw, written) in spellings.items():
        made = answer("other", call("call_0", raw)), result("call_0")
        calls = f'[{{"id":"call_0","type":"function","function":{{"name":"look","arguments":"{written}"}}}}]'
        body = (
            f'{BEGIN}"messages":[{{"role":"assistant","content":"","tool_calls":{calls}}},'
            '{"role":"tool","tool_call_id":"call_0","content":"Seen."}]}'
        )
        yield RequestCase(id=f"Q12.{name}", dialect="other", request=request(*made), body=body)


def _options() -> Iterator[RequestCase]:
    options: dict[str, Any] = {"seed": 7, "logit_bias": {"a": 1, "b": None}, "metadata": {"über": ["x"]}}
    written = '"logit_bias":{"a":1,"b":null},"metadata":{"über":["x"]},"seed":7,'
    sorted_ = request(options=options)
    yield RequestCase(id="Q16.sorted", dialect="other", request=sorted_, body=BEGIN + written + HERE)
    off = request(options={"usage": {"include": False}})
    asked = '"messages":[{"role":"user","content":[{"type":"text","text":"Look."}]}]}'
    own = BEGIN + '"usage":{"include":false},' + asked
    yield RequestCase(id="Q16.in place of the dialect's", dialect="openrouter", request=off, body=own)


# --- the form of the answer ----------------------------------------------------------------------------

CLOSED: dict[str, Any] = {
    "additionalProperties": False,
    "properties": {"n": {"type": "integer"}},
    "required": ["n"],
    "type": "object",
}
OPEN: dict[str, Any] = {"properties": {"n": {"type": "integer"}}, "type": "object"}
OPEN_TEXT = '{"properties":{"n":{"type":"integer"}},"type":"object"}'
CLOSED_TEXT = (
    '{"additionalProperties":false,"properties":{"n":{"type":"integer"}},"required":["n"],"type":"object"}'
)
STRICT = (
    '"response_format":{"type":"json_schema","json_schema":{"name":"answer","strict":true,"schema":'
    + CLOSED_TEXT
    + "}},"
)
LOOSE = '"response_format":{"type":"json_schema","json_schema":{"name":"answer","schema":' + OPEN_TEXT + "}},"


def _modes() -> Iterator[RequestCase]:
    closed, loose = request(output_schema=CLOSED), request(output_schema=OPEN)
    beside = request(output_schema=CLOSED, tools=(LOOK,))
    bodies = {
        "strict": ("openai", closed, BEGIN + STRICT + HERE),
        "a schema that is not strict": ("openai", loose, BEGIN + LOOSE + HERE),
        "beside tools": ("openai", beside, BEGIN + STRICT + WITH_LOOK),
        "a schema": ("groq", closed, BEGIN + STRICT + HERE),
        "JSON": ("deepseek", closed, BEGIN + '"response_format":{"type":"json_object"},' + HERE),
    }
    for name, (dialect, asked, body) in bodies.items():
        yield RequestCase(id=f"Q17.{name}", dialect=dialect, request=asked, body=body)
    unable = {"beside tools, unable": ("groq", beside), "unable": ("other", closed)}
    for name, (dialect, asked) in unable.items():
        yield RequestCase(id=f"Q17.{name}", dialect=dialect, request=asked, refused="unsupported_output")


# --- marks and choice ----------------------------------------------------------------------------------


def _marks() -> Iterator[RequestCase]:
    system = SystemMessage(content="Be brief.")
    messages = system, *request().messages
    plain = f'"messages":[{{"role":"system","content":"Be brief."}},{ASKED}]}}'
    kept = {"auto": '{"type":"ephemeral"}', "long": '{"type":"ephemeral","ttl":"1h"}'}
    for cache in ("auto", "long", "off"):
        asked = request(*messages, prompt_cache=cache, cache_breakpoints=(0,))
        mark = f',"cache_control":{kept[cache]}' if cache in kept else ""
        body = (
            f'{BEGIN}"usage":{{"include":true}},'
            f'"messages":[{{"role":"system","content":[{{"type":"text","text":"Be brief."{mark}}}]}},'
            '{"role":"user","content":[{"type":"text","text":"Look."}]}]}'
        )
        yield RequestCase(id=f"Q18.{cache}", dialect="openrouter", request=asked, body=body)
        key = "" if cache == "off" else '"prompt_cache_key":"root",'
        keyed = BEGIN + key + plain
        yield RequestCase(
            id=f"Q18.{cache}, a key", dialect="openai", request=asked, body=keyed, cache_key="root"
        )
    marked = request(*messages, cache_breakpoints=(0,))
    unmarked = BEGIN + plain
    yield RequestCase(id="Q18.none", dialect="other", request=marked, body=unmarked, cache_key="root")


def _choices() -> Iterator[RequestCase]:
    choices = {
        "auto": "",
        "none": '"tool_choice":"none",',
        "required": '"tool_choice":"required",',
        "look": '"tool_choice":{"type":"function","function":{"name":"look"}},',
    }
    for choice, field in choices.items():
        asked = request(tools=(LOOK,), tool_choice=choice)
        yield RequestCase(id=f"Q19.{choice}", dialect="other", request=asked, body=BEGIN + field + WITH_LOOK)
    asked = request(tool_choice="required")
    yield RequestCase(id="Q19.without tools", dialect="other", request=asked, body=BEGIN + HERE)


CASES: tuple[RequestCase, ...] = (*_tools(), *_arguments(), *_options(), *_modes(), *_marks(), *_choices())
