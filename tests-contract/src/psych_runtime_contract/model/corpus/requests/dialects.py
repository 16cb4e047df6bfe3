"""Q1 to Q10: one request that shows every cell of a dialect's row, as each of them wants it."""

from __future__ import annotations

from psych_runtime_contract.model.corpus.requests.case import (
    LOOK,
    TOOL,
    RequestCase,
    answer,
    call,
    request,
    result,
    said,
    thought,
)
from psych_runtime_core.messages import SystemMessage, UserMessage
from psych_runtime_core.ports.model import ModelRequest

# First nine of sha256("call_0") in hex.
NINE = "c557a85a0"
SAMPLING = '"temperature":0.5,"top_p":0.9,"stop":["END"],"reasoning_effort":"low",'
COMPLETION = (
    '{"model":"m-1","stream":true,"stream_options":{"include_usage":true},"max_completion_tokens":100,'
    + SAMPLING
)
TOKENS = '{"model":"m-1","stream":true,"stream_options":{"include_usage":true},"max_tokens":100,' + SAMPLING
NO_OPTIONS = '{"model":"m-1","stream":true,"max_tokens":100,' + SAMPLING
PARALLEL = '"parallel_tool_calls":false,'
REST = f'"tool_choice":"required","seed":7,"tools":[{TOOL}],'
KEYED = f'"tool_choice":"required","prompt_cache_key":"root","seed":7,"tools":[{TOOL}],'
CALL = (
    '{"id":"prov:1","type":"function","function":{"name":"look","arguments":"{\\"at\\": 1}"},'
    '"extra_content":{"sig":"c2ln"}}'
)

BARE = (
    '"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Look."},'
    f'{{"role":"assistant","content":"","tool_calls":[{CALL}]}},'
    '{"role":"tool","tool_call_id":"prov:1","content":"Seen."},'
    '{"role":"assistant","content":"Done."},'
    '{"role":"user","content":"Weiter ✓"}]}'
)
TOOL_TURNS = (
    '"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Look."},'
    f'{{"role":"assistant","content":"","reasoning_content":"Hm.","tool_calls":[{CALL}]}},'
    '{"role":"tool","tool_call_id":"prov:1","content":"Seen."},'
    '{"role":"assistant","content":"Done."},'
    '{"role":"user","content":"Weiter ✓"}]}'
)
ALWAYS_IN_NINE = (
    '"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Look."},'
    f'{{"role":"assistant","content":"","reasoning_content":"Hm.","tool_calls":['
    f"{CALL.replace('prov:1', NINE)}]}},"
    f'{{"role":"tool","tool_call_id":"{NINE}","content":"Seen."}},'
    '{"role":"assistant","content":"Done.","reasoning_content":"Ah."},'
    '{"role":"user","content":"Weiter ✓"}]}'
)
MARK = '"cache_control":{"type":"ephemeral","ttl":"1h"}'
MARKED = (
    f'"messages":[{{"role":"system","content":[{{"type":"text","text":"Be brief.",{MARK}}}]}},'
    '{"role":"user","content":[{"type":"text","text":"Look."}]},'
    f'{{"role":"assistant","content":"","reasoning_content":"Hm.","tool_calls":[{CALL}]}},'
    '{"role":"tool","tool_call_id":"prov:1","content":[{"type":"text","text":"Seen."}]},'
    '{"role":"assistant","content":[{"type":"text","text":"Done."}],"reasoning_content":"Ah."},'
    f'{{"role":"user","content":[{{"type":"text","text":"Weiter ✓",{MARK}}}]}}]}}'
)
OPENROUTER = f'"tool_choice":"required","seed":7,"usage":{{"include":true}},"tools":[{TOOL}],'

BODIES = {
    "openai": COMPLETION + PARALLEL + KEYED + BARE,
    "azure": COMPLETION + PARALLEL + KEYED + BARE,
    "openrouter": COMPLETION + PARALLEL + OPENROUTER + MARKED,
    "deepseek": TOKENS + REST + TOOL_TURNS,
    "mistral": NO_OPTIONS + PARALLEL + REST + ALWAYS_IN_NINE,
    "groq": COMPLETION + PARALLEL + REST + BARE,
    "xai": COMPLETION + PARALLEL + REST + BARE,
    "gemini": TOKENS + REST + BARE,
    "ollama": TOKENS + REST + TOOL_TURNS,
    "other": TOKENS + REST + TOOL_TURNS,
}


def everything(dialect: str) -> ModelRequest:
    """A request with every field, and a conversation with what is private to this provider."""
    made = call("call_0", '{"at": 1}', "prov:1", {"call": {"extra_content": {"sig": "c2ln"}}})
    return request(
        SystemMessage(content="Be brief."),
        UserMessage(content="Look."),
        answer(dialect, thought("Hm."), made),
        result("call_0"),
        answer(dialect, thought("Ah."), said("Done.")),
        UserMessage(content="Weiter ✓"),
        tools=(LOOK,),
        tool_choice="required",
        parallel_tool_calls=False,
        temperature=0.5,
        top_p=0.9,
        max_output_tokens=100,
        reasoning_effort="low",
        stop=("END",),
        prompt_cache="long",
        cache_breakpoints=(0, 5),
        options={"seed": 7},
    )


CASES: tuple[RequestCase, ...] = tuple(
    RequestCase(
        id=f"Q{row}.{dialect}", dialect=dialect, request=everything(dialect), body=body, cache_key="root"
    )
    for row, (dialect, body) in enumerate(BODIES.items(), 1)
)
