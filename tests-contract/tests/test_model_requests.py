"""Our client sends what the corpus says, byte for byte, and nothing where it cannot."""

from __future__ import annotations

import json
from contextlib import aclosing
from dataclasses import replace

import pytest

from psych_runtime.model.openai_compatible import OpenAICompatibleClient
from psych_runtime.testing.http_stub import HttpStub
from psych_runtime_contract.model import KEY
from psych_runtime_contract.model.chat_wire import WIRE
from psych_runtime_contract.model.corpus.requests import REQUESTS
from psych_runtime_contract.model.corpus.requests.case import RequestCase
from psych_runtime_contract.model.playing import CONTEXT
from psych_runtime_core.errors import ModelError
from psych_runtime_core.messages import check_conversation

SENT = [pytest.param(case, id=case.id) for case in REQUESTS if not case.refused]
REFUSED = [pytest.param(case, id=case.id) for case in REQUESTS if case.refused]

# The keys of a body in their order; those of `options` stand where the dots are.
ORDER: list[str] = [
    *("model", "stream", "stream_options", "max_tokens", "max_completion_tokens", "temperature", "top_p"),
    *("stop", "reasoning_effort", "parallel_tool_calls", "tool_choice", "response_format"),
    *("prompt_cache_key", "...", "tools", "messages"),
]


async def ask(stub: HttpStub, case: RequestCase) -> None:
    """Send the request of `case`, with a client for its provider."""
    able = {} if case.capabilities is None else {case.request.model: case.capabilities}
    client = OpenAICompatibleClient(
        base_url=stub.url + WIRE.base,
        api_key=KEY,
        provider=case.dialect,
        dialect=case.dialect,
        capabilities=able,
    )
    context = replace(CONTEXT, cache_key=case.cache_key)
    try:
        async with aclosing(client.stream(case.request, context)) as stream:
            async for _ in stream:
                continue
    finally:
        await client.transport.aclose()


@pytest.mark.parametrize("case", SENT)
async def test_a_request_is_sent_byte_for_byte(case: RequestCase) -> None:
    async with HttpStub() as stub:
        stub.on("POST", WIRE.path, WIRE.answer("Hello"))
        await ask(stub, case)
        (seen,) = stub.requests
    assert seen.body.decode() == case.body


@pytest.mark.parametrize("case", REFUSED)
async def test_what_cannot_be_carried_fails_before_anything_is_sent(case: RequestCase) -> None:
    async with HttpStub() as stub:
        with pytest.raises(ModelError) as raised:
            await ask(stub, case)
        assert (raised.value.kind.value, raised.value.code) == ("permanent", case.refused)
        assert stub.connections == 0


@pytest.mark.parametrize("case", SENT)
def test_a_body_has_its_keys_in_order_and_a_conversation_that_is_valid(case: RequestCase) -> None:
    keys = [key if key in ORDER else "..." for key in json.loads(case.body)]
    assert keys == sorted(keys, key=ORDER.index)
    assert list(WIRE.faults(json.loads(case.body))) == []
    check_conversation(case.request.messages)


def test_each_request_has_a_name_of_its_own_and_no_row_is_left_out() -> None:
    names = [case.id for case in REQUESTS]
    assert len(set(names)) == len(names)
    assert {name.partition(".")[0] for name in names} == {*(f"Q{row}" for row in range(1, 21)), "R7"}
