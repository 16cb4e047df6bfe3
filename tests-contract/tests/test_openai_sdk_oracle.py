"""The official SDK of OpenAI reads the same bytes, and agrees with the corpus wherever it copes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import openai
import pytest
from openai.types.chat import ChatCompletionChunk

from psych_runtime.testing.http_stub import HttpStub
from psych_runtime_contract.model import Call, Outcome, WireCase
from psych_runtime_contract.model.corpus import CASES
from psych_runtime_contract.model.playing import MODEL

PATH = "/v1/chat/completions"

# Where the SDK, or a plain reader of its chunks, does not cope: by row, or by case where others of the row
# agree. Each must in fact disagree.
RAW_JSON = "an event that is no JSON comes out as a raw JSONDecodeError"
LATE = "an error is one even when the answer is there"
UNCHECKED = "it does not check what JSON it got; its reader meets None or another type"
UNTOUCHED = "content is handed on as it came, of whatever type"
OPEN_ENDED = "any end of the connection is a good end"
WORDS = "the provider's word is handed on as it is, whatever came before it"
BY_INDEX = "fragments are told apart by their index alone"
JOINED = "what comes twice stands there twice"
FIGURES = "counts are handed on as they are, possible or not"
DISAGREES = {
    "B2": "a byte order mark hides the first event",
    "B4": "a byte that is no UTF-8 is a raw UnicodeDecodeError",
    "B5": "half a character stays half of one, also when the other half follows",
    "B7.with two": "a blank before [DONE] makes it text that is no JSON",
    "B9": RAW_JSON,
    "B10.retry alone": RAW_JSON,
    "B10.empty data": RAW_JSON,
    "B11": RAW_JSON,
    "B12": UNCHECKED,
    "B13.bare VT and FF": RAW_JSON,
    "B15": OPEN_ENDED,
    "B16": RAW_JSON,
    "B19.gzip cut short": OPEN_ENDED,
    "C1.null, usage": UNCHECKED,
    "C1.missing, usage": UNCHECKED,
    "C2": UNCHECKED,
    "C3.mid-stream": UNCHECKED,
    "C4.number": UNTOUCHED,
    "C4.bool": UNTOUCHED,
    "C5": UNTOUCHED,
    "C6": "a message in place of a delta is not read",
    "C7": "choices are told apart by whoever reads",
    "C8": UNCHECKED,
    "C9.alone": "a refusal ends with `stop`",
    "C11": UNCHECKED,
    "D1.blanks": RAW_JSON,
    "D1.lower case": RAW_JSON,
    "D3": OPEN_ENDED,
    "D4.a call": WORDS,
    "D4.nothing": OPEN_ENDED,
    "D4.a role": OPEN_ENDED,
    "D5.no JSON, no mark of the end": RAW_JSON,
    "D5.usage": "nothing is read after [DONE]",
    "D8": WORDS,
    "D10": WORDS,
    "D11": WORDS,
    "D12.after the finish reason": "a reset is an error even when the answer is there",
    "E3.message": UNCHECKED,
    "E3.message without a code": UNCHECKED,
    "E3.plain text": RAW_JSON,
    "E4": "an error inside a choice is not seen",
    "E5": UNCHECKED,
    "E7.after the finish reason": LATE,
    "E7.after the finish reason, no end": LATE,
    "E8.no code": "an error that says nothing is one",
    "E8.null, no end": OPEN_ENDED,
    "T1.in one chunk": WORDS,
    "T2": BY_INDEX,
    "T4.ids differ": BY_INDEX,
    "T4.in one chunk": BY_INDEX,
    "T4.interleaved by their ids": BY_INDEX,
    "T5": BY_INDEX,
    "T6": BY_INDEX,
    "T7.empty": "an empty id stays one",
    "T10.on every delta": JOINED,
    "T10.on every delta, with its id": JOINED,
    "T10.on every delta, an empty one last": JOINED,
    "T10.growing": JOINED,
    "T10.growing, then again": JOINED,
    "T12.an object": UNTOUCHED,
    "T12.a list": UNTOUCHED,
    "T12.a number": UNTOUCHED,
    "T14": JOINED,
    "T15.a surrogate pair": "half a character stays half of one, also when the other half follows",
    "T17": "a legacy call is handed on beside the calls",
    "T18": UNCHECKED,
    "T19": BY_INDEX,
    "T24.late": "the id of the first fragment counts, also where it has none",
    "T24.later than all arguments": "the id of the first fragment counts, also where it has none",
    "T25.late": WORDS,
    "U2.totals, then zeros": FIGURES,
    "U2.totals and their cost, then zeros": FIGURES,
    "U3.all zeros": FIGURES,
    "U4": "usage in another place is not read",
    "U8.by the total, fields": FIGURES,
    "U8.over the prompt, fields": FIGURES,
    "U8.by the total, details": FIGURES,
    "U8.over the prompt, details": FIGURES,
    "U8.by the total alone": FIGURES,
    "U9": FIGURES,
    "U11.negative, prompt_tokens": FIGURES,
    "U11.negative, completion_tokens": FIGURES,
    "U11.a fraction, prompt_tokens": FIGURES,
    "U11.a fraction, completion_tokens": FIGURES,
    "U11.bool, prompt_tokens": FIGURES,
    "U11.bool, completion_tokens": FIGURES,
    "U11.a word, prompt_tokens": FIGURES,
    "U11.a word, completion_tokens": FIGURES,
    "U11.2^70, prompt_tokens": FIGURES,
    "U11.2^70, completion_tokens": FIGURES,
    "U13": "other names of the counts are not read",
}
LETTERS = set("BCDETU")
# Big and timed replies are not its matter.
ASKED = [case for case in CASES if case.row[0] in LETTERS and case.cuts != "few"]


@dataclass
class Read:
    """What a plain reader makes of the SDK's chunks."""

    text: str = ""
    finish: str | None = None
    usage: tuple[int, int] | None = None
    names: dict[int, str] = field(default_factory=dict[int, str])
    ids: dict[int, str | None] = field(default_factory=dict[int, "str | None"])
    arguments: dict[int, str] = field(default_factory=dict[int, str])

    def take(self, chunk: ChatCompletionChunk) -> None:
        if chunk.usage is not None:
            self.usage = chunk.usage.prompt_tokens, chunk.usage.completion_tokens
        for choice in chunk.choices:
            self.text += choice.delta.content or ""
            self.finish = choice.finish_reason or self.finish
            for fragment in choice.delta.tool_calls or ():
                self._fragment(fragment)

    def _fragment(self, fragment: Any) -> None:
        index, function = fragment.index, fragment.function
        self.ids.setdefault(index, fragment.id)
        self.names[index] = self.names.get(index, "") + (function.name or "")
        self.arguments[index] = self.arguments.get(index, "") + (function.arguments or "")

    @property
    def calls(self) -> tuple[Call, ...]:
        return tuple(Call(self.names[n], self.arguments[n], self.ids[n]) for n in self.names)


def disagreements(expect: Outcome, read: Read, error: Exception | None) -> list[str]:
    """What the SDK sees otherwise than the corpus."""
    if expect.error is not None:
        return (
            [] if isinstance(error, openai.OpenAIError) else [f"an error was expected, got {error!r}, {read}"]
        )
    if error is not None:
        return [repr(error)]
    usage = expect.usage and (expect.usage.prompt, expect.usage.output)
    pairs = {
        "text": (expect.text, read.text),
        "calls": (expect.calls, read.calls),
        "finish": (expect.finish.value, read.finish or "stop"),
        "usage": (usage, read.usage),
    }
    return [f"{name}: {wanted!r}, {got!r}" for name, (wanted, got) in pairs.items() if wanted != got]


async def asked(case: WireCase) -> tuple[Read, Exception | None]:
    """What it reads, and what it raises."""
    read = Read()
    async with HttpStub() as stub:
        stub.on("POST", PATH, case.made())
        # Certificates are of no use here, and slow to load.
        http = openai.DefaultAsyncHttpxClient(verify=False, trust_env=False)
        url = stub.url + "/v1"
        async with openai.AsyncOpenAI(base_url=url, api_key="x", max_retries=0, http_client=http) as client:
            try:
                messages: Any = [{"role": "user", "content": "Say hello."}]
                stream = await client.chat.completions.create(model=MODEL, messages=messages, stream=True)
                async with stream:
                    async for chunk in stream:
                        read.take(chunk)
            except Exception as error:
                return read, error
    return read, None


@pytest.mark.parametrize("case", [pytest.param(case, id=case.id) for case in ASKED])
async def test_the_official_sdk_agrees_wherever_it_copes(case: WireCase) -> None:
    found = disagreements(case.expect, *await asked(case))
    reason = DISAGREES.get(case.id) or DISAGREES.get(case.row)
    assert bool(found) == bool(reason), found or f"it agrees now, so this no longer holds: {reason}"


def test_every_reason_belongs_to_a_case() -> None:
    known = {name for case in ASKED for name in (case.id, case.row)}
    assert not [name for name in DISAGREES if name not in known]


def test_it_agrees_with_most_of_the_corpus() -> None:
    agreed = [case for case in ASKED if case.id not in DISAGREES and case.row not in DISAGREES]
    assert len(agreed) > len(ASKED) / 2
