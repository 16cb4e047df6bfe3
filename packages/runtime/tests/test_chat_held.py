"""What an answer makes its reader hold: counted in bytes, refused in time, never copied for each piece."""

from __future__ import annotations

import itertools
import tracemalloc
from collections.abc import Callable, Iterator

import pytest

from packages.runtime.tests.chat_chunks import (
    ERRORS,
    Chunk,
    call,
    calls,
    delta,
    events_of,
    finish,
    read,
    text,
)
from psych_runtime.model.assemble import MAX_ANSWER_BYTES
from psych_runtime.model.chat.reply.faults import Unreadable
from psych_runtime.model.chat.reply.gathered import Gathered, Room
from psych_runtime.model.chat.reply.names import GrowingName
from psych_runtime.model.chat.reply.opaque import compact_json, json_size
from psych_runtime.model.chat.reply.stream import ChatStream
from psych_runtime_core.arguments import MAX_ARGUMENTS_BYTES
from psych_runtime_core.errors import ModelError, ModelErrorKind

KIB = 1024
Flood = Callable[[int], Chunk]


def details(*entries: object) -> Chunk:
    return delta(reasoning_details=list(entries))


def thinking(**extra: object) -> Chunk:
    return text([{"type": "thinking", "thinking": "", **extra}])


def nameless(**extra: object) -> Chunk:
    return calls({"index": 0, "id": "a", **extra})


FLOODS: dict[str, Flood] = {
    "items that hold nothing": lambda n: details(*({"data": ""},) * 1_000),
    "items of an index alone": lambda n: details(*({"index": n * 1_000 + i} for i in range(1_000))),
    "keys without a value": lambda n: details({"index": 0, **{f"k{n}-{i}": None for i in range(1_000)}}),
    "keys with a short value": lambda n: details({"index": 0, **{f"k{n}-{i}": 1 for i in range(1_000)}}),
    "long keys": lambda n: details({"index": 0, f"{n}" + "k" * 9_000: ""}),
    "text of an item": lambda n: details({"index": 0, "text": "ä" * 5_000}),
    "text of escapes": lambda n: details({"index": 0, "text": "\x01" * 2_000}),
    "both lists at once": lambda n: delta(
        reasoning_details=[{"data": "x" * 5_000}], thinking_blocks=[{"data": "x" * 5_000}]
    ),
    "keys of a thought": lambda n: thinking(**{f"k{n}": "x" * 9_000}),
    "keys of a call without a name": lambda n: nameless(**{f"k{n}-{i}": 1 for i in range(1_000)}),
    "keys of its function": lambda n: calls({"index": 0, "id": "a", "function": {f"k{n}": "x" * 9_000}}),
    "a name in pieces": lambda n: calls(call(0, "a", f"{n:06}" + "x" * 9_000)),
    "ids of calls without a name": lambda n: calls(call(n, f"{n}" + "i" * 100_000)),
    "arguments of calls without a name": lambda n: calls(call(n // 90, f"c{n // 90}", None, " " * 10_000)),
}


@pytest.mark.parametrize("flood", FLOODS.values(), ids=FLOODS)
def test_what_is_held_back_is_refused_as_soon_as_it_is_too_large(flood: Flood) -> None:
    with pytest.raises(ModelError) as caught:
        flooded(flood, 4 * MAX_ANSWER_BYTES)
    assert (caught.value.kind, caught.value.code) == (ModelErrorKind.PERMANENT, "answer_too_large")


def test_keys_of_a_call_that_goes_on_are_counted_each_time_they_go_out() -> None:
    with pytest.raises(ModelError) as caught:
        flooded(lambda n: calls({**call(0, "a", "f", "["), f"k{n}": "x" * 100}), 100 * KIB)
    assert caught.value.code == "answer_too_large"


def flooded(flood: Flood, most: int) -> None:
    """Read so many bytes of it."""
    stream = ChatStream(ERRORS)
    sent = 0
    for n in itertools.count():
        chunk = flood(n)
        sent += json_size(chunk)
        if sent > most:
            return
        stream.feed(chunk)


@pytest.mark.parametrize(
    "chunk",
    [
        pytest.param(details({"index": 0, "format": "f" * 9_000}), id="of an item"),
        pytest.param(thinking(signature="s" * 9_000), id="of a thought"),
        pytest.param(nameless(extra_content="e" * 9_000), id="of a call without a name"),
        pytest.param(
            calls({**call(0, "a", "f", " "), "extra_content": "e" * 9_000}), id="of one that goes on"
        ),
        pytest.param(calls(call(0, "i" * 9_000, "f" * 9_000)), id="the name and the id"),
    ],
)
def test_what_every_chunk_repeats_is_counted_once(chunk: Chunk) -> None:
    stream = ChatStream(ERRORS)
    for _ in range(2 * MAX_ANSWER_BYTES // 9_000):
        stream.feed(chunk)
    assert not stream.finished


def test_a_value_that_replaces_another_takes_its_place() -> None:
    stream = ChatStream(ERRORS)
    for n in range(2 * MAX_ANSWER_BYTES // 9_000):
        stream.feed(details({"index": 0, "state": f"{n}" + "x" * 9_000, "other": None}))
    *_, items, _ = stream.end(True)
    assert json_size(items.opaque) < 10_000  # type: ignore[union-attr]  # the last of them is a mark


def test_the_largest_answer_is_held_and_comes_whole() -> None:
    data, names = "x" * KIB, [f"{n:04}" + "f" * 1_020 for n in range(300)]
    chunks = [
        *(details({"index": 0, "type": "sealed", "data": data}) for _ in range(600)),
        *(calls(call(0, "a", piece)) for piece in names),
        calls(call(0, None, None, " " * (MAX_ARGUMENTS_BYTES - KIB))),
    ]
    told = read(*chunks, finish())
    assert [one.name for one in told.message.tool_calls] == ["".join(names)]
    item = {"index": 0, "type": "sealed", "data": data * 600}
    assert told.replayed == [{"field": "reasoning_details", "items": [item]}]


# --- no piece costs what came before it -----------------------------------------------------------------

GROWING: dict[str, Flood] = {
    "keys of an item": lambda n: details({"index": 0, f"k{n}": 1}),
    "text of an item": lambda n: details({"index": 0, "text": "hm "}),
    "items": lambda n: details({"data": "x"}),
    "keys of a thought": lambda n: thinking(**{f"k{n}": 1}),
    "keys of a call without a name": lambda n: nameless(**{f"k{n}": 1}),
    "a name in pieces": lambda n: calls(call(0, "a", f"{n:06}")),
    "arguments of a call without a name": lambda n: calls(call(0, "a", None, "xy")),
}


@pytest.mark.parametrize("flood", GROWING.values(), ids=GROWING)
def test_a_late_piece_makes_no_copy_of_what_is_held(flood: Flood) -> None:
    stream = ChatStream(ERRORS)
    tracemalloc.start()
    try:
        made = [allocated(stream, flood(n)) for n in range(3_000)]
    finally:
        tracemalloc.stop()
    # A table that grows is copied now and then, and most pieces make none grow.
    assert sorted(made[-100:])[50] <= sorted(made[50:150])[50] + KIB


def allocated(stream: ChatStream, chunk: Chunk) -> int:
    """The most bytes that reading a chunk takes at once, beside what was held before."""
    before, _ = tracemalloc.get_traced_memory()
    tracemalloc.reset_peak()
    stream.feed(chunk)
    return tracemalloc.get_traced_memory()[1] - before


# --- the measure ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    [
        "",
        "ä\n\x01\ud800😀",
        0,
        -17,
        True,
        None,
        [],
        {},
        [[]],
        {"a": 1},
        {"ä": [1, "x", None], "b": {"": False}},
    ],
    ids=repr,
)
def test_a_size_is_that_of_the_json(value: object) -> None:
    assert json_size(value) == len(compact_json(value).encode("utf-8", "surrogatepass"))


def test_endless_nesting_has_no_size() -> None:
    deep: object = 1
    for _ in range(200):
        deep = [deep]
    with pytest.raises(Unreadable, match="nested"):
        json_size(deep)
    for chunk in (details({"index": 0, "x": deep}), details({"index": 0, "type": deep})):
        with pytest.raises(ModelError) as caught:
            events_of(chunk, chunk, finish())
        assert caught.value.code == "malformed_event"


def test_what_is_held_may_be_as_large_as_an_answer_and_no_larger() -> None:
    room = Room()
    room.grow(MAX_ANSWER_BYTES)
    with pytest.raises(Unreadable) as caught:
        room.grow(1)
    assert caught.value.code == "answer_too_large"


def test_of_each_key_the_later_value_is_kept_and_counted() -> None:
    gathered = Gathered()
    assert not gathered
    said = [gathered.put(*one) for one in (("a", "x" * 90), ("b", None), ("a", "y"), ("a", "y"), ("b", [1]))]
    assert said == [True, True, True, False, True]
    assert (gathered.plain(), "b" in gathered, gathered.get("c")) == ({"a": "y", "b": [1]}, True, None)
    assert gathered.frozen() == gathered.plain()
    assert gathered.size == len('"a":"y","b":[1],')


def pieces() -> Iterator[str]:
    return (f"{n}" for n in range(10))


def test_a_name_is_no_longer_than_what_came_of_it() -> None:
    name = GrowingName()
    assert not name
    for piece in pieces():
        name.add(piece)
    assert (str(name), name.size) == ("0123456789", 10)
    name.add("0123456789é")
    assert (str(name), name.size) == ("0123456789é", 12)
    name.add("")
    assert name.digest == GrowingName("0123456789é").digest
