"""Q20, and R7: what goes back to who made it, and to nobody else: ids, reasoning, private matter."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from psych_runtime_contract.model.corpus.requests.case import (
    ASK,
    ASKED,
    BEGIN,
    MODEL,
    RequestCase,
    answer,
    call,
    request,
    result,
    said,
    thought,
)
from psych_runtime_core.jsonvalue import Json
from psych_runtime_core.messages import AssistantMessage, Message, ModelSource, OpaquePart, ReasoningPart

Extras: TypeAlias = tuple[str, str]

SEEN = '"Seen."'
HM, AH, EMPTY = (f'"reasoning_content":"{text}",' for text in ("Hm.", "Ah.", ""))


def _called(
    id: str, fields: str = "", *, content: str = '""', extras: Extras = ("", ""), seen: str = SEEN
) -> str:
    """A message with one call, and the result of that; `extras` are keys of the call and of its function."""
    beside, inside = extras
    function = f'{{"name":"look","arguments":"{{}}"{inside}}}'
    calls = f'[{{"id":"{id}","type":"function","function":{function}{beside}}}]'
    return (
        f'{{"role":"assistant","content":{content},{fields}"tool_calls":{calls}}},'
        f'{{"role":"tool","tool_call_id":"{id}","content":{seen}}}'
    )


# --- ids -----------------------------------------------------------------------------------------------

LONG = "call_" + "c2ln" * 749


def _ids() -> RequestCase:
    asked = request(
        answer("other", call("call_0", given=LONG)),
        result("call_0"),
        answer("other", call("call_1", given=LONG)),
        result("call_1"),
        answer("other", call("call_2", given="")),
        result("call_2"),
        answer("other", call("call:odd")),
        result("call:odd"),
        answer("elsewhere", call("call_4", given="theirs")),
        result("call_4"),
    )
    # The provider's, whole; one that stands already; none; ours, whose characters are odd; somebody else's.
    ids = (LONG, "call_1", "call_2", "call_b77f0a931f45916947cac255", "call_4")
    body = f'{BEGIN}"messages":[{",".join(map(_called, ids))}]}}'
    return RequestCase(id="Q20.ids", dialect="other", request=asked, body=body)


# --- reasoning of turns with calls ---------------------------------------------------------------------


def _tool_turns() -> Iterator[RequestCase]:
    old = answer("deepseek", thought("Hm."), call("call_0")), result("call_0")
    done, told = answer("deepseek", thought("So."), said("Done.")), '{"role":"assistant","content":"Done."}'
    new = answer("deepseek", thought("Ah."), call("call_1")), result("call_1")
    silent = answer("deepseek", call("call_1")), result("call_1")
    model = ModelSource(provider="deepseek", model=f"not {MODEL}")
    other = AssistantMessage(parts=(thought("Oh."), call("call_1")), source=model), result("call_1")
    rows: dict[str, tuple[tuple[Message, ...], tuple[str, ...]]] = {
        "tool turn": ((ASK, *old), (ASKED, _called("call_0", HM))),
        "older tool turn": (
            (*old, done, ASK, *new),
            (_called("call_0", HM), told, ASKED, _called("call_1", AH)),
        ),
        "one without reasoning": ((*old, *silent), (_called("call_0", HM), _called("call_1", EMPTY))),
        "one without, and none before": (silent, (_called("call_1"),)),
        "another model": ((*old, *other), (_called("call_0", HM), _called("call_1"))),
    }
    for name, (messages, written) in rows.items():
        body = f'{BEGIN}"messages":[{",".join(written)}]}}'
        yield RequestCase(id=f"R7.{name}", dialect="deepseek", request=request(*messages), body=body)


# --- private matter ------------------------------------------------------------------------------------

SIGNED = '[{"index":0,"signature":"c2ln","text":"Hm.","type":"reasoning.text"}]'
ITEM: dict[str, Json] = {"index": 0, "signature": "c2ln", "text": "Hm.", "type": "reasoning.text"}
DETAILS = (
    thought("Hm.", "reasoning_details"),
    ReasoningPart(text="", opaque={"field": "reasoning_details", "items": [ITEM]}),
)
BLOCKS = (
    ReasoningPart(text="Hm.", opaque={"field": "content", "form": "parts"}),
    said("Look."),
    OpaquePart(kind="content", opaque={"field": "content", "part": {"type": "reference"}}),
)
BLOCKS_TEXT = (
    '[{"type":"thinking","thinking":[{"type":"text","text":"Hm."}]},{"type":"text","text":"Look."},'
    '{"type":"reference"}]'
)
EXTRAS = call("call_0", given="provider1", opaque={"call": {"rank": 1}, "function": {"signature": "c2ln"}})
KEYS: Extras = (',"rank":1', ',"signature":"c2ln"')
ROUTED = '{"model":"m-1","stream":true,"stream_options":{"include_usage":true},"usage":{"include":true},'
LISTED = '[{"type":"text","text":"Seen."}]'
SAID = '[{"type":"text","text":"Look."}]'


def _private() -> Iterator[RequestCase]:
    routed = (*DETAILS, said("Look."), EXTRAS)
    own = _called("provider1", f'"reasoning_details":{SIGNED},', content=SAID, extras=KEYS, seen=LISTED)
    theirs = _called("call_0", content=SAID, seen=LISTED)
    for by, written in (("openrouter", own), ("elsewhere", theirs)):
        yield RequestCase(
            id=f"Q20.items of {by}",
            dialect="openrouter",
            request=request(answer(by, *routed), result("call_0")),
            body=f'{ROUTED}"messages":[{written}]}}',
        )
    plain = '{"model":"m-1","stream":true,'
    own = _called("provider1", content=BLOCKS_TEXT, extras=KEYS)
    theirs = _called("c557a85a0", content='"Look."')
    for by, written in (("mistral", own), ("elsewhere", theirs)):
        yield RequestCase(
            id=f"Q20.blocks of {by}",
            dialect="mistral",
            request=request(answer(by, *BLOCKS, EXTRAS), result("call_0")),
            body=f'{plain}"messages":[{written}]}}',
        )


CASES: tuple[RequestCase, ...] = (_ids(), *_tool_turns(), *_private())
