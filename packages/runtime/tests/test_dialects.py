"""Each provider is sent what it wants: every cell of the table, byte for byte."""

from __future__ import annotations

import pytest

from packages.runtime.tests.chat_bodies import answer, call, encoded, request, result, source, terms, tool
from psych_runtime.model.chat.dialects import DIALECTS, dialect_of
from psych_runtime_core.messages import ReasoningPart, SystemMessage, UserMessage
from psych_runtime_core.ports.model import ModelCapabilities, ModelRequest

SHAPE = {
    "type": "object",
    "properties": {"n": {"type": "integer"}},
    "required": ["n"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("host", "name"),
    [
        pytest.param("api.openai.com", "openai", id="openai"),
        pytest.param("eu.api.openai.com", "openai", id="a region of it"),
        pytest.param("acme.openai.azure.com", "azure", id="azure"),
        pytest.param("acme.services.ai.azure.com", "azure", id="azure's foundry"),
        pytest.param("openrouter.ai", "openrouter", id="openrouter"),
        pytest.param("api.deepseek.com", "deepseek", id="deepseek"),
        pytest.param("api.mistral.ai", "mistral", id="mistral"),
        pytest.param("api.groq.com", "groq", id="groq"),
        pytest.param("api.x.ai", "xai", id="xai"),
        pytest.param("generativelanguage.googleapis.com", "gemini", id="gemini"),
        pytest.param("ollama.com", "ollama", id="ollama"),
        pytest.param("127.0.0.1", "other", id="an address"),
        pytest.param("notx.ai", "other", id="an ending that is not behind a dot"),
        pytest.param("api.openai.com.evil.example", "other", id="a known host in front of another"),
    ],
)
def test_the_host_decides_the_dialect(host: str, name: str) -> None:
    assert dialect_of(host).name == name


def everything(dialect: str) -> ModelRequest:
    """A request that shows each cell: every field, a thought before a call, an absurd id, two marks."""
    thought = ReasoningPart(text="Hm.", opaque={"field": "reasoning_content"})
    return request(
        SystemMessage(content="Be brief."),
        UserMessage(content="Look"),
        answer(thought, call("call_1", given="an odd id"), by=source(dialect)),
        result("call_1"),
        answer(thought, "Done.", by=source(dialect)),
        UserMessage(content="Und jetzt? ✓"),
        tools=(tool(),),
        tool_choice="required",
        parallel_tool_calls=False,
        temperature=0.5,
        top_p=1.0,
        max_output_tokens=100,
        reasoning_effort="low",
        stop=("END",),
        prompt_cache="long",
        cache_breakpoints=(0, 5),
    )


TOOLS = (
    '"tools":[{"type":"function","function":{"name":"look","description":"It can look.",'
    '"parameters":{"properties":{},"type":"object"}}}],'
)
PLAIN_START = '"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Look"},'
PLAIN_END = '{"role":"user","content":"Und jetzt? ✓"}]}'
RESULT = '{"role":"tool","tool_call_id":"an odd id","content":"ok"},'


def asking(id: str = "an odd id", thought: str = "") -> str:
    function = '"type":"function","function":{"name":"look","arguments":"{}"}'
    return f'{{"role":"assistant","content":"",{thought}"tool_calls":[{{"id":"{id}",{function}}}]}},'


def done(thought: str = "") -> str:
    return f'{{"role":"assistant","content":"Done."{thought}}},'


def head(limit: str, *, streamed: bool = True, parallel: bool = True) -> str:
    options = '"stream_options":{"include_usage":true},' if streamed else ""
    calls = '"parallel_tool_calls":false,' if parallel else ""
    sampling = '"temperature":0.5,"top_p":1,"stop":["END"],"reasoning_effort":"low",'
    return f'{{"model":"m-1","stream":true,{options}"{limit}":100,{sampling}{calls}"tool_choice":"required",'


THOUGHT = '"reasoning_content":"Hm."'
KEYED = '"prompt_cache_key":"root"'
MARK = '"cache_control":{"type":"ephemeral","ttl":"1h"}'
COMPLETION = "max_completion_tokens"
NEVER = PLAIN_START + asking() + RESULT + done() + PLAIN_END
TOOL_TURNS = PLAIN_START + asking(thought=f"{THOUGHT},") + RESULT + done() + PLAIN_END
# The first nine of sha256("call_1").
NINE = "74196fe72"

BODIES = {
    "openai": head(COMPLETION) + KEYED + "," + TOOLS + NEVER,
    "azure": head(COMPLETION) + KEYED + "," + TOOLS + NEVER,
    "openrouter": (
        head(COMPLETION)
        + '"usage":{"include":true},'
        + TOOLS
        + f'"messages":[{{"role":"system","content":[{{"type":"text","text":"Be brief.",{MARK}}}]}},'
        + '{"role":"user","content":[{"type":"text","text":"Look"}]},'
        + asking(thought=f"{THOUGHT},")
        + '{"role":"tool","tool_call_id":"an odd id","content":[{"type":"text","text":"ok"}]},'
        + f'{{"role":"assistant","content":[{{"type":"text","text":"Done."}}],{THOUGHT}}},'
        + f'{{"role":"user","content":[{{"type":"text","text":"Und jetzt? ✓",{MARK}}}]}}]}}'
    ),
    "deepseek": head("max_tokens", parallel=False) + TOOLS + TOOL_TURNS,
    "mistral": (
        head("max_tokens", streamed=False)
        + TOOLS
        + PLAIN_START
        + asking(NINE, f"{THOUGHT},")
        + RESULT.replace("an odd id", NINE)
        + done(f",{THOUGHT}")
        + PLAIN_END
    ),
    "groq": head(COMPLETION) + TOOLS + NEVER,
    "xai": head(COMPLETION) + TOOLS + NEVER,
    "gemini": head("max_tokens", parallel=False) + TOOLS + NEVER,
    "ollama": head("max_tokens", parallel=False) + TOOLS + TOOL_TURNS,
    "other": head("max_tokens", parallel=False) + TOOLS + TOOL_TURNS,
}


@pytest.mark.parametrize("name", DIALECTS)
def test_a_request_is_what_the_provider_wants(name: str) -> None:
    assert encoded(everything(name), terms(name), key="root").decode() == BODIES[name]


SCHEMA_FORM = (
    '"response_format":{"type":"json_schema","json_schema":{"name":"answer","strict":true,"schema":'
    '{"additionalProperties":false,"properties":{"n":{"type":"integer"}},"required":["n"],"type":"object"}}},'
)
JSON_FORM = '"response_format":{"type":"json_object"},'


ABLE = {
    "openai": ModelCapabilities(structured_output="schema", structured_with_tools=True, cache="automatic"),
    "azure": ModelCapabilities(structured_output="schema", structured_with_tools=True, cache="automatic"),
    "openrouter": ModelCapabilities(
        structured_output="schema", structured_with_tools=True, cache="breakpoints"
    ),
    "deepseek": ModelCapabilities(structured_output="json", cache="automatic"),
    "mistral": ModelCapabilities(structured_output="schema"),
    "groq": ModelCapabilities(structured_output="schema", cache="automatic"),
    "xai": ModelCapabilities(structured_output="schema", cache="automatic"),
    "gemini": ModelCapabilities(structured_output="schema", cache="automatic"),
    "ollama": ModelCapabilities(),
    "other": ModelCapabilities(),
}


@pytest.mark.parametrize("name", DIALECTS)
def test_what_a_provider_can_do_is_what_it_is_asked_for(name: str) -> None:
    able = DIALECTS[name].capabilities
    assert able == ABLE[name]
    if able.structured_output != "none":
        form = SCHEMA_FORM if able.structured_output == "schema" else JSON_FORM
        assert form.encode() in encoded(request(output_schema=SHAPE), terms(name))


@pytest.mark.parametrize("name", DIALECTS)
def test_the_key_goes_where_the_provider_looks_for_it(name: str) -> None:
    row = DIALECTS[name]
    expected = ("api-key", "") if name == "azure" else ("Authorization", "Bearer")
    assert (row.auth_header, row.auth_scheme) == expected
