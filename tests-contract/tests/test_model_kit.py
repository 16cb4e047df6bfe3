"""The parts of the kit: packets, time that passes by itself, damage, and a strict server's eye."""

from __future__ import annotations

import asyncio
from itertools import count
from random import Random
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from psych_runtime.testing.http_stub import Piece, Raw, Reply, SeenRequest
from psych_runtime_contract.model import Silence, WireCase
from psych_runtime_contract.model.cases import Cuts
from psych_runtime_contract.model.chat import sse, text
from psych_runtime_contract.model.chat_wire import WIRE
from psych_runtime_contract.model.corpus import CASES
from psych_runtime_contract.model.cuts import MOST_PIECES, replies
from psych_runtime_contract.model.garble import garbled
from psych_runtime_contract.model.lapse import loop_time
from psych_runtime_contract.model.leaving import holds_on
from psych_runtime_contract.model.wires import wire_named

QUIET = Silence(5)


def joined(pieces: tuple[Piece, ...] | list[Piece]) -> list[object]:
    """What a reply consists of, whatever its packets: bytes between silences."""
    runs: list[object] = [b""]
    for piece in pieces:
        if isinstance(piece, bytes) and isinstance(runs[-1], bytes):
            runs[-1] += piece
        else:
            runs.append(piece)
    return [run for run in runs if run != b""]


# --- who leaves, and when ------------------------------------------------------------------------------


async def test_a_second_that_a_busy_machine_took_is_none_to_leave_in(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, hours = SeenRequest("POST", "/", {}, b"", 1), count(0.0, 3_600.0)
    monkeypatch.setattr("time.monotonic", lambda: next(hours))
    leaving = asyncio.ensure_future(holds_on(asked))
    for _ in range(100):
        await asyncio.sleep(0)
    asked.left(0.0)
    assert not await leaving


async def test_a_client_that_never_leaves_is_not_waited_for() -> None:
    assert await holds_on(SeenRequest("POST", "/", {}, b"", 1))


# --- packets -------------------------------------------------------------------------------------------


@given(
    st.lists(st.binary(max_size=40) | st.just(QUIET), max_size=6), st.sampled_from(["usual", "every", "few"])
)
def test_no_cut_changes_what_is_sent(pieces: list[Piece], cuts: Cuts) -> None:
    for name, reply in replies(Raw(pieces), cuts, "seed"):
        assert joined(list(reply.chunks)) == joined(pieces), name


def test_a_body_is_cut_into_chunks_of_a_stream() -> None:
    cut = dict(replies(Reply(body=b"abcdefgh"), "every", "seed"))
    assert cut["whole"] == Reply(body=b"abcdefgh")
    assert cut["every 1 bytes"].chunks == tuple(b"abcdefgh"[at : at + 1] for at in range(8))
    assert cut["every 7 bytes"].chunks == (b"abcdefg", b"h")
    assert [cut[f"at byte {place}"].chunks for place in (1, 7)] == [(b"a", b"bcdefgh"), (b"abcdefg", b"h")]


def test_cuts_are_the_same_every_time_and_differ_between_cases() -> None:
    reply = Reply(body=bytes(500))
    once, again, other = (
        [cut.chunks for _, cut in replies(reply, "usual", seed)] for seed in ("B1", "B1", "B2")
    )
    assert once == again
    assert once != other


@pytest.mark.parametrize("case", [pytest.param(case, id=case.id) for case in CASES if case.cuts == "few"])
def test_a_big_reply_is_not_cut_to_dust(case: WireCase) -> None:
    assert all(len(cut.chunks) <= MOST_PIECES + 10 for _, cut in replies(case.made(), case.cuts, case.id))


def test_cases_have_names_of_their_own_and_say_their_row() -> None:
    names = [case.id for case in CASES]
    assert len(set(names)) == len(names)
    assert {case.row[0] for case in CASES} >= set("BCDE")
    assert all(case.row[1:].isdigit() for case in CASES)


# --- time ----------------------------------------------------------------------------------------------


async def test_a_silence_lets_the_time_of_the_loop_pass_and_wakes_who_is_due() -> None:
    loop = asyncio.get_running_loop()
    before, woken = loop.time(), asyncio.Event()
    loop.call_later(299, woken.set)
    await Silence(298).wait()
    assert not woken.is_set()
    await Silence(2).wait()
    assert woken.is_set()
    assert 300 <= loop.time() - before < 310
    assert loop_time().ahead == 300


async def test_a_timeout_falls_due_in_a_silence() -> None:
    with anyio.move_on_after(10) as bound:
        async with anyio.create_task_group() as group:
            group.start_soon(Silence(11).wait)
            await anyio.sleep_forever()
    assert bound.cancelled_caught


# --- damage --------------------------------------------------------------------------------------------


def test_damage_is_the_same_every_time_and_is_some() -> None:
    body = sse(text("Hello"), {"usage": {"prompt_tokens": 7}})
    made = [garbled(body, Random(seed)) for seed in range(200)]
    assert made == [garbled(body, Random(seed)) for seed in range(200)]
    assert sum(each != body for each in made) > 180
    assert garbled(b"", Random(1)) == b""


# --- a strict server -----------------------------------------------------------------------------------

CALL: dict[str, Any] = {"id": "a", "type": "function", "function": {"name": "look", "arguments": "{}"}}
USER = {"role": "user", "content": "Hi."}


def called(*calls: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": "", "tool_calls": list(calls)}


def result(id: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id, "content": "done"}


def with_arguments(arguments: object) -> dict[str, Any]:
    return {**CALL, "function": {"name": "look", "arguments": arguments}}


@pytest.mark.parametrize(
    ("messages", "fault"),
    [
        pytest.param([USER, called(CALL), result("a"), USER], None, id="a good one"),
        pytest.param([called(CALL), USER], "before the results of", id="a result too late"),
        pytest.param([called(CALL)], "ends before the results of", id="no result"),
        pytest.param(
            [called(CALL), result("b"), result("a")], "answers no open call", id="a stranger's result"
        ),
        pytest.param([called(CALL, CALL), result("a"), result("a")], "stands twice", id="one id twice"),
        pytest.param(
            [called({**CALL, "id": ""}), result("")], "missing or stands twice", id="an id that is empty"
        ),
        pytest.param([called(with_arguments("[1]")), result("a")], "no server takes", id="arguments a list"),
        pytest.param([called(with_arguments("{")), result("a")], "no server takes", id="arguments no JSON"),
        pytest.param([called(with_arguments(None)), result("a")], "no server takes", id="arguments missing"),
        pytest.param([{"role": "assistant", "content": ""}], "says nothing", id="nothing said"),
    ],
)
def test_what_a_strict_server_refuses(messages: list[dict[str, Any]], fault: str | None) -> None:
    faults = list(WIRE.faults({"messages": messages}))
    assert faults == [] if fault is None else any(fault in each for each in faults)


def test_a_wire_that_no_suite_speaks_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match=r"'smoke.signals'; give one of openai.chat, or None"):
        wire_named("smoke.signals")
