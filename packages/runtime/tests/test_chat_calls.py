"""Tool calls in the fragments of every provider: which is whose, and what goes out when."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
from psych_runtime.model.assemble import MAX_CALLS
from psych_runtime.model.chat.reply.arguments import SeenArguments, digest_of
from psych_runtime.model.chat.reply.names import GrowingName
from psych_runtime.model.chat.reply.stream import ChatStream
from psych_runtime_core.arguments import MAX_ARGUMENTS_BYTES
from psych_runtime_core.errors import ModelError, ModelErrorKind
from psych_runtime_core.ports.model import TextDelta, ToolCallDelta

LOOK = ("look", '{"at": 1}', "a")
FIND = ("find", '{"q": [2]}', "b")
NAMELESS_LOOK, NAMELESS_FIND = ("look", '{"at": 1}', None), ("find", '{"q": [2]}', None)


def whole(index: int | None, said: tuple[str, str, str | None]) -> dict[str, object]:
    return call(index, said[2], said[0], said[1])


def nothing(index: int | None, arguments: object, blank: object) -> dict[str, object]:
    """A fragment that names neither call nor tool, in so many words."""
    return {"index": index, "id": blank, "function": {"name": blank, "arguments": arguments}}


ROWS = [
    pytest.param([calls(whole(0, LOOK)), calls(whole(1, FIND))], [LOOK, FIND], id="T1 in order"),
    pytest.param(
        [
            calls(call(0, "a", "look", '{"at"'), call(1, "b", "find", "")),
            calls(call(1, None, None, '{"q": '), call(0, None, None, ": 1}")),
            calls(call(1, None, None, "[2]}")),
        ],
        [LOOK, FIND],
        id="T1 interleaved",
    ),
    pytest.param([calls(whole(None, LOOK)), calls(whole(None, FIND))], [LOOK, FIND], id="T2"),
    pytest.param(
        [calls(call(None, "a", "look", '{"at"')), calls(call(None, None, None, ": 1}"))], [LOOK], id="T3"
    ),
    pytest.param(
        [
            calls(call(None, "a", "look", '{"at"'), call(None, "b", "find", '{"q"')),
            calls(call(None, "a", "look", ": 1}"), call(None, "b", None, ": [2]}")),
        ],
        [LOOK, FIND],
        id="T3 two by their ids",
    ),
    pytest.param(
        [calls({**whole(None, LOOK), "index": None}), calls({**whole(None, FIND), "index": "x"})],
        [LOOK, FIND],
        id="T4",
    ),
    pytest.param([calls(whole(0, LOOK)), calls(whole(0, FIND))], [LOOK, FIND], id="T5 ids differ"),
    pytest.param(
        [calls(whole(0, LOOK)), calls(call(0, "b", "find")), calls(call(0, None, None, LOOK[1]))],
        [LOOK, ("find", LOOK[1], "b")],
        id="T5 the same arguments for another",
    ),
    pytest.param(
        [calls(whole(None, LOOK)), calls(call(None, "b", "look")), calls(call(None, None, "look", LOOK[1]))],
        [LOOK, ("look", LOOK[1], "b")],
        id="T3 the same arguments and name for another",
    ),
    pytest.param(
        [
            calls(call(None, "a", "look", "{}")),
            *(calls(call(None, *piece)) for piece in (("b", "find", '{"q":'), (None, None, "{}"))),
            calls(call(None, None, None, "}")),
        ],
        [("look", "{}", "a"), ("find", '{"q":{}}', "b")],
        id="T3 a piece that another has for its whole",
    ),
    pytest.param(
        [
            calls(call(0, "a", "look", '{"at"')),
            calls(call(0, "b", "find", '{"q"')),
            calls(call(0, "a", None, ": 1}")),
            calls(call(0, "b", None, ": [2]}")),
        ],
        [LOOK, FIND],
        id="T5 ids differ, interleaved",
    ),
    pytest.param(
        [calls(whole(0, NAMELESS_LOOK)), calls(whole(0, NAMELESS_FIND))],
        [NAMELESS_LOOK, NAMELESS_FIND],
        id="T5 no ids",
    ),
    pytest.param(
        [calls(call(0, "a", "look", '{"at"'), call(0, None, None, ": 1}"))], [LOOK], id="T6 fragments"
    ),
    pytest.param(
        [calls(whole(0, NAMELESS_LOOK), whole(0, NAMELESS_LOOK))],
        [NAMELESS_LOOK, NAMELESS_LOOK],
        id="T6 two whole calls",
    ),
    pytest.param(
        [calls({**whole(0, NAMELESS_LOOK), "id": None}), calls({**whole(1, NAMELESS_FIND), "id": ""})],
        [NAMELESS_LOOK, NAMELESS_FIND],
        id="T7",
    ),
    pytest.param(
        [calls(whole(0, LOOK)), calls(whole(1, ("find", "{}", "a")))], [LOOK, ("find", "{}", "a")], id="T8"
    ),
    pytest.param(
        [calls(call(0, "a", "look", "")), calls(nothing(0, '{"at"', None)), calls(nothing(0, ": 1}", ""))],
        [LOOK],
        id="T9",
    ),
    pytest.param(
        [calls(call(0, None, "look", piece)) for piece in ("", '{"at"', ": 1}", "")],
        [NAMELESS_LOOK],
        id="T10 on every delta",
    ),
    pytest.param(
        [calls(call(0, "a", "lo")), calls(call(0, None, "ok")), calls(call(0, None, None, '{"at": 1}'))],
        [LOOK],
        id="T10 in pieces",
    ),
    pytest.param(
        [calls(call(0, "a", name)) for name in ("l", "loo", "look")]
        + [calls(call(0, None, "look", '{"at": 1}'))],
        [LOOK],
        id="T10 growing",
    ),
    pytest.param(
        [
            calls(nothing(0, None, None)),
            calls({**call(0, "a", "look"), "function": {"name": "look", "arguments": None}}),
            calls(call(0, None, None, "")),
            calls(call(0, None, None, '{"at": 1}')),
        ],
        [LOOK],
        id="T11",
    ),
    pytest.param(
        [calls(call(0, "a", "f", {"b": Decimal("1.50"), "a": [None, "é"]}))],
        [("f", '{"b":1.50,"a":[null,"é"]}', "a")],
        id="T12 object",
    ),
    pytest.param([calls(call(0, "a", "f", [1, True]))], [("f", "[1,true]", "a")], id="T12 list"),
    pytest.param([calls(call(0, "a", "f", 7))], [("f", "7", "a")], id="T12 number"),
    pytest.param(
        [calls(call(0, "a", "f"), call(1, "b", "f", ""), call(2, "c", "f", "{}"))],
        [("f", "", "a"), ("f", "", "b"), ("f", "{}", "c")],
        id="T13",
    ),
    pytest.param(
        [calls(whole(0, LOOK), whole(1, FIND)), calls(whole(0, LOOK), whole(1, FIND))], [LOOK, FIND], id="T14"
    ),
    pytest.param(
        [
            calls(call(0, "a", "look", '{"at"'), call(1, "b", "find", FIND[1])),
            calls(call(0, None, None, ": 1}")),
            calls(whole(0, LOOK), call(1, None, None, FIND[1])),
        ],
        [LOOK, FIND],
        id="T14 after pieces",
    ),
    pytest.param(
        [calls(whole(0, LOOK)), calls(call(0, None, "look_up")), calls(whole(0, LOOK))],
        [LOOK],
        id="T14 after a name that came too late",
    ),
    pytest.param(
        [calls(whole(0, NAMELESS_LOOK)), calls(whole(0, LOOK))], [NAMELESS_LOOK], id="T14 now with an id"
    ),
    pytest.param([calls(whole(0, LOOK)), calls(whole(2, FIND))], [LOOK, FIND], id="T16 gap"),
    pytest.param([calls(whole(1, LOOK)), calls(whole(2, FIND))], [LOOK, FIND], id="T16 from 1"),
    pytest.param([calls(whole(1, LOOK)), calls(whole(0, FIND))], [LOOK, FIND], id="T16 descending"),
    pytest.param(
        [delta(function_call={"name": "look"}), delta(function_call={"arguments": '{"at": 1}'})],
        [NAMELESS_LOOK],
        id="T17",
    ),
    pytest.param(
        [calls(call(0, "a", "look", '{"at"')), calls(call(5, None, None, ": 1}"))], [LOOK], id="T19 goes on"
    ),
    pytest.param(
        [
            calls(call(0, "a", "look", '{"at"')),
            calls(call(0, "x", None, ": 1")),
            calls(call(0, "y", None, "}")),
        ],
        [LOOK],
        id="T24 changing ids",
    ),
    pytest.param(
        [calls(call(0, None, "look", '{"at"')), calls(call(0, "a", None, ": 1}"))], [LOOK], id="T24 a late id"
    ),
    pytest.param(
        [calls(call(0, "a", None, '{"at"')), calls(call(0, None, "look", ": 1}"))], [LOOK], id="a late name"
    ),
    pytest.param([calls(None, 7, {}, {"index": 0}, whole(0, LOOK))], [LOOK], id="entries that say nothing"),
]


@pytest.mark.parametrize(("chunks", "expected"), ROWS)
def test_calls_are_put_together(chunks: list[Chunk], expected: list[tuple[str, str, str | None]]) -> None:
    assert read(*chunks, finish("tool_calls")).calls == expected


RAW = [
    '"{\\"at\\": 1}"',
    "[1]",
    '"at": 1}',
    '{"at": 1} thanks',
    '{"at": NaN}',
    '{"a": 1, "a": 2}',
    "[" * 5_000,
    '{"n": 12345678901234567890123}',
    '{"s": "\\ud800 \\u0000 \\\\"}',
    '{"s": "a \\"b\\" {", "t": "}\\\\"}',
]


@pytest.mark.parametrize("raw", RAW, ids=range(len(RAW)))
def test_arguments_are_kept_as_they_came_wherever_they_are_cut(raw: str) -> None:
    told = read(calls(call(0, "a", "f")), *(calls(call(0, None, None, piece)) for piece in raw), finish())
    assert told.calls == [("f", raw, "a")]
    assert read(calls(call(0, "a", "f", raw)), finish()).calls == told.calls


def test_a_pair_of_surrogates_in_arguments_is_one_character() -> None:
    pieces = ['{"s": "\ud83d', '\ude00\ud83d"', "}\ud83d"]
    told = read(calls(call(0, "a", "f")), *(calls(call(0, None, None, piece)) for piece in pieces), finish())
    assert told.calls == [("f", '{"s": "😀\ufffd"}\ufffd', "a")]


def test_text_and_calls_stand_in_their_order() -> None:
    told = read(
        text("a"), calls(call(0, "a", "f")), text("b"), calls(call(0, None, None, "{}")), text("c"), finish()
    )
    assert told.parts == [("text", "a"), ("call", "f{}"), ("text", "bc")]


def test_half_a_character_waits_while_a_call_that_began_goes_on() -> None:
    more = calls(call(0, None, None, "}"))
    assert read(calls(call(0, "a", "f", "{")), text("\ud83d"), more, text("\ude00"), finish()).parts[1:] == [
        ("text", "😀")
    ]


def test_a_name_goes_out_with_the_first_arguments_and_once() -> None:
    stream = ChatStream(ERRORS)
    assert stream.feed(calls(call(3, "a", "lo"))) == []
    assert stream.feed(calls(call(3, None, "ok"))) == []
    assert stream.feed(calls(call(3, None, "look", "{"))) == [ToolCallDelta(0, "a", "look", "{")]
    assert stream.feed(calls(call(3, "a", "look", "}"))) == [ToolCallDelta(0, arguments_fragment="}")]
    assert stream.feed(text("x")) == [TextDelta("x")]


def test_a_call_waits_for_one_that_began_before_it() -> None:
    stream = ChatStream(ERRORS)
    assert stream.feed(calls(call(0, "a"), call(1, "b", "find", "{}"))) == []
    assert stream.feed(text("x")) == [TextDelta("x")]
    first, second = ToolCallDelta(0, "a", "look"), ToolCallDelta(1, "b", "find", "{}")
    assert stream.feed(calls(call(0, None, "look"))) == [first, second]


# --- private matter ------------------------------------------------------------------------------------


def test_further_keys_of_a_call_are_kept_and_the_later_ones_come_whole() -> None:
    first = {
        **call(0, "a", "f", "{"),
        "type": "function",
        "extra_content": {"google": {"t": "s1"}},
        "n": None,
    }
    second = {"index": 0, "function": {"arguments": "}", "sig": Decimal("0.5")}, "extra_content": {"x": 1}}
    deltas = events_of(calls(first), calls(second), calls(second), finish())
    early = {"call": {"extra_content": {"google": {"t": "s1"}}}}
    late = {"call": {"extra_content": {"x": 1}}, "function": {"sig": 0.5}}
    assert [one.opaque for one in deltas if isinstance(one, ToolCallDelta)] == [early, late, None]
    assert read(calls(first), calls(second), finish()).replayed == [late]


def test_an_id_goes_out_once_whatever_ids_come_after_it() -> None:
    pieces = [calls(call(0, name, None, "[")) for name in ("x", "y")]
    deltas = [
        one
        for one in events_of(calls(call(0, "a", "f", "[")), *pieces, finish())
        if isinstance(one, ToolCallDelta)
    ]
    assert [one.id for one in deltas] == ["a", None, None]


def test_a_late_id_comes_alone() -> None:
    long = "x" * 3_000
    deltas = events_of(calls(call(0, None, "f", "{}")), calls(call(0, long)), finish())
    assert deltas[:2] == [ToolCallDelta(0, None, "f", "{}"), ToolCallDelta(0, long)]


# --- refused -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("chunks", "kind", "code"),
    [
        pytest.param(
            [calls(call(3, None, None, "{}"))], ModelErrorKind.TRANSIENT, "malformed_event", id="T19"
        ),
        pytest.param([calls(call(0, "a", None, "{}"))], ModelErrorKind.TRANSIENT, "nameless_call", id="T18"),
        pytest.param(
            [calls(*(call(i, f"c{i}", "f", "{}") for i in range(MAX_CALLS + 1)))],
            ModelErrorKind.PERMANENT,
            "answer_too_large",
            id="T22 calls",
        ),
        pytest.param(
            [calls(call(0, "a", "f", " " * MAX_ARGUMENTS_BYTES)), calls(call(0, None, None, " "))],
            ModelErrorKind.PERMANENT,
            "answer_too_large",
            id="T22 arguments",
        ),
    ],
)
def test_calls_that_cannot_be_kept_are_errors(chunks: list[Chunk], kind: ModelErrorKind, code: str) -> None:
    with pytest.raises(ModelError) as caught:
        events_of(*chunks, finish())
    assert (caught.value.kind, caught.value.code) == (kind, code)


def test_the_largest_calls_are_read() -> None:
    entries = [call(i, f"c{i}", "f", "{}") for i in range(MAX_CALLS)]
    assert len(read(calls(*entries), finish()).calls) == MAX_CALLS
    assert len(read(calls(call(0, "a", "f", "[" * MAX_ARGUMENTS_BYTES)), finish()).calls[0][1]) == 2**20


# --- its parts, alone ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "piece", "whole_name"),
    [("", "f", "f"), ("f", "", "f"), ("f", "f", "f"), ("get", "get_x", "get_x"), ("get_", "x", "get_x")],
)
def test_names_grow(name: str, piece: str, whole_name: str) -> None:
    growing = GrowingName(name)
    growing.add(piece)
    assert (str(growing), growing.size, bool(growing)) == (whole_name, len(whole_name), True)
    assert growing.digest == digest_of(whole_name)
    assert growing.digest != digest_of(whole_name[:-1])


@pytest.mark.parametrize(
    ("text_so_far", "closed"),
    [
        ("", False),
        (" {", False),
        (' {"a": "}"', False),
        ('{"a": "\\"}"}', True),
        ('{"a": "\\\\"}', True),
        ('"x"', True),
        ('"x\\"', False),
        ("[[]]", True),
        ("[[]", False),
        ("12", False),
        ("true", False),
        ("{} trailing", True),
    ],
)
def test_arguments_are_closed_when_their_value_is(text_so_far: str, closed: bool) -> None:
    at_once, one_by_one = SeenArguments(), SeenArguments()
    at_once.add(text_so_far)
    for character in text_so_far:
        one_by_one.add(character)
    assert (at_once.closed, one_by_one.closed) == (closed, closed)


@given(st.lists(st.text(st.characters(), max_size=4)))
def test_arguments_equal_their_pieces_joined_however_they_were_cut(pieces: list[str]) -> None:
    seen = SeenArguments()
    for piece in pieces:
        seen.add(piece)
    joined = "".join(pieces)
    assert seen.digest == SeenArguments(joined).digest == digest_of(joined)
    assert seen.digest != digest_of(joined + "x")
    assert seen.length <= len(joined.encode("utf-8", "surrogatepass"))
