"""Servers that refuse a conversation in which what they said themselves is missing or has changed."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from psych_runtime import Store, answer, approve, open_store
from psych_runtime.model.chat.dialects import DIALECTS
from psych_runtime.testing.http_stub import Reply, SeenRequest
from tests.e2e.stage import agent, at_work, begun, ended, registered, results, seen
from tests.e2e.wire import answer_asked, bodies, event, failed, provider, said

Message = Mapping[str, Any]
TOOLS = ("look", "count", "note")


async def look(n: int) -> str:
    """Look something up."""
    return f"seen {n}"


async def count(n: int) -> int:
    """Count something."""
    return n


async def note(n: int) -> str:
    """Note something down."""
    return f"noted {n}"


def call(turn: int, **keys: Any) -> dict[str, Any]:
    function = {"name": TOOLS[turn - 1], "arguments": json.dumps({"n": turn})}
    return {"index": 0, "id": f"p{turn}", "function": function, **keys}


def signed(turn: int) -> dict[str, Any]:
    return {"google": {"thought_signature": f"sig/{turn}=="}}


def detailed(turn: int) -> list[dict[str, Any]]:
    shown = {"type": "reasoning.text", "index": 0, "text": f"Thought {turn}.", "signature": f"sig/{turn}"}
    return [shown, {"type": "reasoning.encrypted", "index": 1, "data": f"sealed/{turn}"}]


# By server, what it says in a turn, and whether a message of its own still says it.
SERVERS: dict[str, tuple[Callable[[int], Mapping[str, Any]], Callable[[Message, int], bool]]] = {
    "deepseek": (
        lambda turn: {"reasoning_content": f"Thought {turn}.", "tool_calls": [call(turn)]},
        lambda message, turn: message.get("reasoning_content") == f"Thought {turn}.",
    ),
    "mistral": (
        lambda turn: {"reasoning_content": f"Thought {turn}.", "tool_calls": [call(turn)]},
        lambda message, turn: message.get("reasoning_content") == f"Thought {turn}.",
    ),
    "openrouter": (
        lambda turn: {"reasoning_details": detailed(turn), "tool_calls": [call(turn)]},
        lambda message, turn: message.get("reasoning_details") == detailed(turn),
    ),
    "gemini": (
        lambda turn: {"tool_calls": [call(turn, extra_content=signed(turn))]},
        lambda message, turn: [one.get("extra_content") for one in message["tool_calls"]] == [signed(turn)],
    ),
}


def strict(server: str) -> Callable[[SeenRequest], Reply]:
    """A server that asks for three tools, one after another, and answers 400 to what it did not say."""
    says, remembers = SERVERS[server]

    def reply(request: SeenRequest) -> Reply:
        own = [message for message in request.json["messages"] if message["role"] == "assistant"]
        if not all(remembers(message, turn) for turn, message in enumerate(own, 1)):
            return failed(400, message="What I thought is missing in a message of mine.")
        turn = answer_asked(request)
        if turn > len(TOOLS):
            return said("Done.")
        events = (event(delta=says(turn)), event(delta={}, finish_reason="tool_calls"), b"data: [DONE]\n\n")
        return Reply(headers={"content-type": "text/event-stream"}, chunks=events)

    return reply


async def asked(store: Store, server: str, dialect: str) -> tuple[object, list[str]]:
    """How a Run of three tools ends, and which of them ran."""
    tools = registered(look, count, note)
    async with provider(strict(server), dialect=dialect) as (_, client), at_work(store, client, tools):
        run_id = await begun(store, agent(*TOOLS))
        state = await ended(store, run_id)
    return state.terminal_state, [end.tool for end in await results(store, run_id)]


@pytest.mark.parametrize("server", SERVERS)
async def test_a_server_that_wants_its_thoughts_back_completes_three_tools(store: Store, server: str) -> None:
    assert await asked(store, server, server) == ("completed", list(TOOLS))


@pytest.mark.parametrize("server", ["deepseek", "mistral", "openrouter"])
async def test_without_them_it_refuses_the_second_turn(store: Store, server: str) -> None:
    """Else the servers here would prove nothing."""
    assert await asked(store, server, "openai") == ("failed", ["look"])


# --- the same bytes from every store ---------------------------------------------------------------------

ODD_KEYS = {
    "z": 1.50,
    "a": [0.1, 1e21, -0.0, 2**60, None, True],
    "é\u2028": {"b": "\ud83d\ude00", "": "\u0000"},
}
RICH: tuple[Mapping[str, Any], ...] = (
    {"reasoning_content": "Hm \ud83d"},
    {"reasoning_content": "\ude00, then."},
    {"reasoning_details": [{"type": "reasoning.text", "index": 0, "text": "Hm", "format": None, **ODD_KEYS}]},
    {"content": [{"type": "thinking", "thinking": "In parts.", "signature": "s/=="}]},
    {"content": [{"type": "unheard-of", **ODD_KEYS}]},
    {"content": "Let\u2028 me \u0000look."},
    {
        "tool_calls": [
            {**call(1, **ODD_KEYS), "id": "odd id/1", "function": {"name": "look", "arguments": '{ "n"'}}
        ]
    },
    {"tool_calls": [{"index": 0, "function": {"arguments": " :1.0}\t", "strict": False, **ODD_KEYS}}]},
)


def rich(request: SeenRequest) -> Reply:
    if answer_asked(request) > 1:
        return said("Done.")
    events = [*(event(delta=delta) for delta in RICH), event(delta={}, finish_reason="tool_calls")]
    return Reply(headers={"content-type": "text/event-stream"}, chunks=(*events, b"data: [DONE]\n\n"))


async def sent_again(url: str, dialect: str, *, waits: bool) -> bytes:
    """What a message becomes in the next request; `waits`: of another Worker, which has it from the store."""
    tools = registered(look, annotations="destructive" if waits else "read-only")
    async with provider(rich, dialect=dialect) as (stub, client):
        async with open_store(url, migrate=True) as store:
            run_id = await begun(store, agent("look"))
            if waits:
                async with at_work(store, client, tools):
                    await seen(store, run_id, lambda state: state.parked)
                await approve(store, run_id)
            async with at_work(store, client, tools):
                await ended(store, run_id)
            assert (await answer(store, run_id)).result() == "Done."
        first, second = bodies(stub.requests)
    assert second.startswith(first[:-2])
    # Some are given an id of ours, which is another in each Run.
    *_, message, _ = json.loads(second)["messages"]
    return second[len(first) - 2 :].replace(message["tool_calls"][0]["id"].encode(), b"<id>")


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_message_is_sent_again_in_the_same_bytes_from_every_store(
    dialect: str, tmp_path: Path
) -> None:
    kept = await sent_again("memory:", dialect, waits=False)
    assert b'{ \\"n\\" :1.0}\\t' in kept
    assert await sent_again("memory:", dialect, waits=True) == kept
    assert await sent_again(f"sqlite:///{tmp_path / 'here.db'}", dialect, waits=False) == kept
    assert await sent_again(f"sqlite:///{tmp_path / 'there.db'}", dialect, waits=True) == kept
