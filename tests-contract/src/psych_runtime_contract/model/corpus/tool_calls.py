"""T: tool calls. Fragments without index, id or name, arguments of every sort, calls sent twice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from psych_runtime.testing.http_stub import Reply
from psych_runtime_contract.model.cases import Call, Outcome, WireCase
from psych_runtime_contract.model.chat import (
    SSE,
    call,
    calls,
    delta,
    event,
    finish,
    sse,
    streamed,
    text,
)
from psych_runtime_contract.model.lapse import Silence
from psych_runtime_core.messages import FinishReason

MIB = 1024 * 1024
AT, FOR = '{"at": 1}', '{"for": "x"}'
# The same two in pieces, the first of which is no JSON.
AT_1, AT_2 = '{"at": ', "1}"
FOR_1, FOR_2 = '{"for": ', '"x"}'
LOOK, FIND = Call("look", AT, "a"), Call("find", FOR, "b")
BARE_LOOK, BARE_FIND = Call("look", AT), Call("find", FOR)
# The id that the kit itself gives to the first call of an answer.
OURS = "call_0"


def called(*made: Call) -> Outcome:
    """An answer of nothing but these calls."""
    return Outcome(calls=made, finish=FinishReason.TOOL_CALLS)


def calling(*fragments: Mapping[str, Any]) -> Reply:
    """A stream with a chunk for each fragment."""
    return streamed(*map(calls, fragments), finish("tool_calls"))


def written(name: str, arguments: str, id: str, **further: Any) -> dict[str, Any]:
    """A call as it stands in the next request."""
    function = {"name": name, "arguments": arguments, **further.pop("function", {})}
    return {"id": id, "type": "function", "function": function, **further}


# --- where a fragment belongs --------------------------------------------------------------------------


def _places() -> Iterator[WireCase]:
    both = called(LOOK, FIND)
    first, more = call(0, "look", AT_1, "a"), call(0, None, AT_2)
    second, rest = call(1, "find", FOR_1, "b"), call(1, None, FOR_2)
    yield WireCase("T1.in order", calling(first, more, second, rest), both)
    yield WireCase("T1.interleaved", calling(first, second, more, rest), both)
    yield WireCase("T1.in one chunk", streamed(calls(first, second), calls(more, rest), finish()), both)
    for row, index in (("T2", {}), ("T4", {"index": None})):
        whole = [{**call(None, made.name, made.arguments, made.id), **index} for made in (LOOK, FIND)]
        yield WireCase(f"{row}.ids differ", calling(*whole), both)
        opened = call(None, "look", AT_1, "a"), call(None, "find", FOR_1, "b")
        ended = call(None, None, AT_2, "a"), call(None, None, FOR_2, "b")
        pieces = [{**piece, **index} for piece in (*opened, *ended)]
        yield WireCase(f"{row}.interleaved by their ids", calling(*pieces), both)
        yield WireCase(f"{row}.in one chunk", streamed(calls(*whole), finish()), both)
    for row, index in (("T3", {}), ("T4", {"index": None})):
        one = call(None, "look", AT_1, "a"), call(None, None, "1"), call(None, None, "}")
        yield WireCase(
            f"{row}.continued without id", calling(*({**piece, **index} for piece in one)), called(LOOK)
        )


def _one_index() -> Iterator[WireCase]:
    ids_differ = calling(call(0, "look", AT, "a"), call(0, "find", FOR, "b"))
    yield WireCase("T5.ids differ", ids_differ, called(LOOK, FIND))
    first = call(0, "look", AT_1, "a"), call(0, None, AT_2)
    second = call(0, "find", FOR_1, "b"), call(0, None, FOR_2)
    yield WireCase("T5.ids differ, in pieces", calling(*first, *second), called(LOOK, FIND))
    bare = calling(call(0, "look", "", "a"), call(0, "find", "", "b"))
    empty = called(Call("look", "", "a"), Call("find", "", "b"))
    yield WireCase("T5.ids differ, without arguments", bare, empty)
    no_ids = calling(call(0, "look", AT), call(0, "find", FOR))
    yield WireCase("T5.no ids, both complete", no_ids, called(BARE_LOOK, BARE_FIND))
    first = call(0, "look", AT_1), call(0, None, AT_2)
    second = call(0, "find", FOR_1), call(0, None, FOR_2)
    no_ids = calling(*first, *second)
    yield WireCase("T5.no ids, both complete in the end", no_ids, called(BARE_LOOK, BARE_FIND))
    twice = streamed(calls(call(0, "look", AT_1, "a"), call(0, None, AT_2)), finish())
    yield WireCase("T6.fragments", twice, called(LOOK))
    whole = streamed(calls(call(0, "look", AT), call(0, "find", FOR)), finish())
    yield WireCase("T6.two whole calls", whole, called(BARE_LOOK, BARE_FIND))
    equal = streamed(calls(call(0, "look", AT), call(0, "look", AT)), finish())
    yield WireCase("T6.two equal calls", equal, called(BARE_LOOK, BARE_LOOK))


def _ids() -> Iterator[WireCase]:
    nothings: dict[str, dict[str, Any]] = {"null": {"id": None}, "empty": {"id": ""}, "missing": {}}
    for name, id in nothings.items():
        pieces = call(0, "look", AT_1), call(0, None, AT_2), call(1, "find", FOR)
        reply = calling(*({**piece, **id} for piece in pieces))
        yield WireCase(f"T7.{name}", reply, called(BARE_LOOK, BARE_FIND))
    same = calling(call(0, "look", AT, "a"), call(1, "find", FOR, "a"))
    yield WireCase("T8", same, called(LOOK, Call("find", FOR, "a")))
    for name, nothing in (("null", None), ("empty", "")):
        more = {"index": 0, "id": nothing, "function": {"name": nothing, "arguments": AT_2}}
        yield WireCase(f"T9.{name}", calling(call(0, "look", AT_1, "a"), more), called(LOOK))


def _names() -> Iterator[WireCase]:
    names: dict[str, Sequence[dict[str, Any]]] = {
        "on every delta": (call(0, "look", AT_1, "a"), call(0, "look", "1"), call(0, "look", "}")),
        "on every delta, with its id": (call(0, "look", AT_1, "a"), call(0, "look", AT_2, "a")),
        "on every delta, an empty one last": (call(0, "look", AT, "a"), call(0, "look", "")),
        "in pieces": (call(0, "lo", None, "a"), call(0, "ok", None), call(0, None, AT)),
        "in pieces, with its id": (call(0, "lo", "", "a"), call(0, "ok", "", "a"), call(0, None, AT, "a")),
        "growing": (call(0, "lo", None, "a"), call(0, "look", None), call(0, None, AT)),
        "growing, then again": (call(0, "l", "", "a"), call(0, "look", ""), call(0, "look", AT)),
    }
    for name, fragments in names.items():
        yield WireCase(f"T10.{name}", calling(*fragments), called(LOOK))
    for name, nothing in (("missing", {}), ("null", {"name": None}), ("empty", {"name": ""})):
        nameless = {"index": 0, "id": "a", "function": {"arguments": AT, **nothing}}
        yield WireCase(f"T18.{name}", calling(nameless), Outcome(error="transient", code="nameless_call"))


def _strays() -> Iterator[WireCase]:
    indices = {"a gap": (0, 2), "from 1": (1, 2), "descending": (1, 0)}
    for name, (first, second) in indices.items():
        fragments = call(first, "look", AT_1, "a"), call(second, "find", FOR, "b"), call(first, None, AT_2)
        yield WireCase(f"T16.{name}", calling(*fragments), called(LOOK, FIND))
    legacy = (
        delta(function_call={"name": "look", "arguments": ""}),
        delta(function_call={"arguments": AT_1}),
        delta(function_call={"arguments": AT_2}),
    )
    yield WireCase("T17", streamed(*legacy, finish("function_call")), called(BARE_LOOK))
    opened = call(0, "look", AT_1, "a"), call(1, None, AT_2)
    yield WireCase("T19.a call is open", calling(*opened), called(LOOK))
    two = call(0, "find", FOR, "b"), call(1, "look", AT_1, "a"), call(7, None, AT_2)
    yield WireCase("T19.the last of two", calling(*two), called(FIND, LOOK))
    yield WireCase("T19.none is open", calling(call(1, None, AT)), Outcome(error="transient"))
    changing = call(0, "look", AT_1, "a"), call(0, None, "1", "b"), call(0, None, "}", "c")
    yield WireCase("T24.another on every fragment", calling(*changing), called(LOOK))
    late = call(0, "look", AT_1), call(0, None, AT_2, "a")
    yield WireCase("T24.late", calling(*late), called(LOOK))
    last = call(0, "look", AT), call(0, None, "", "a")
    yield WireCase("T24.later than all arguments", calling(*last), called(LOOK))


# --- arguments -----------------------------------------------------------------------------------------


def _forms() -> Iterator[WireCase]:
    for name, nothing in (("null", None), ("empty", "")):
        opened = {"index": 0, "id": "a", "function": {"name": "look", "arguments": nothing}}
        yield WireCase(f"T11.{name}", calling(opened, call(0, None, AT_1), call(0, None, AT_2)), called(LOOK))
    values: dict[str, tuple[object, str]] = {
        "an object": ({"at": [1, None], "by": "me"}, '{"at":[1,null],"by":"me"}'),
        "a list": ([1, 2], "[1,2]"),
        "a number": (7, "7"),
    }
    for name, (value, compact) in values.items():
        opened = {"index": 0, "id": "a", "function": {"name": "look", "arguments": value}}
        yield WireCase(f"T12.{name}", calling(opened), called(Call("look", compact, "a")))
    for name, arguments in (("absent", None), ("empty", ""), ("an empty object", "{}")):
        outcome = Outcome(
            calls=(Call("look", arguments or "", "a"),),
            finish=FinishReason.TOOL_CALLS,
            replay={"tool_calls": [written("look", "{}", "a")]},
        )
        yield WireCase(f"T13.{name}", calling(call(0, "look", arguments, "a")), outcome)


def _repeated() -> Iterator[WireCase]:
    whole, pieces = call(0, "look", AT, "a"), (call(0, "look", AT_1, "a"), call(0, None, AT_2))
    again: dict[str, Sequence[dict[str, Any]]] = {
        "whole first": (whole, whole),
        "whole first, then without its name": (whole, call(0, None, AT)),
        "whole first, then without its id": (whole, call(0, "look", AT)),
        "in pieces": (*pieces, whole),
        "in pieces, then without index": (*pieces, call(None, "look", AT, "a")),
    }
    for name, fragments in again.items():
        yield WireCase(f"T14.{name}", calling(*fragments), called(LOOK))
    other = call(1, "find", FOR, "b")
    both = streamed(*map(calls, (*pieces, other)), calls(whole, other), finish("tool_calls"))
    yield WireCase("T14.both of two", both, called(LOOK, FIND))


def _cuts() -> Iterator[WireCase]:
    cuts = {
        "an escape": (r'{"at": "a' + "\\", r'n"}'),
        "an escaped character": (r'{"at": "\u00', r'e9"}'),
        "a number": ('{"at": 1', "2.5}"),
        "a key": ('{"a', 't": 1}'),
        "a surrogate pair": ('{"at": "\ud83d', '\ude00"}'),
        "an escaped pair": (r'{"at": "\ud83d', r'\ude00"}'),
    }
    for name, (first, second) in cuts.items():
        joined = (first + second).encode("utf-16", "surrogatepass").decode("utf-16")
        reply = calling(call(0, "look", first, "a"), call(0, None, second))
        yield WireCase(f"T15.{name}", reply, called(Call("look", joined, "a")))
    raw = r'{"a\"t": {"x": [-1.5e3, true]}, "\\": "}{"}'
    single = (call(0, None, raw[begin:end]) for begin, end in pairwise(range(len(raw) + 1)))
    yield WireCase(
        "T15.single characters", calling(call(0, "look", "", "a"), *single), called(Call("look", raw, "a"))
    )


def _raw() -> Iterator[WireCase]:
    strange = {
        "double-encoded": r'"{\"at\": 1}"',
        "an array": '["at", 1]',
        "head missing": 'at": 1}',
        "trailing text": '{"at": 1} Done.',
        "NaN": '{"at": NaN}',
        "duplicate keys": '{"at": 1, "at": 2}',
        "5,000 deep": '{"at": ' + "[" * 5_000 + "]" * 5_000 + "}",
        "23 digits": '{"at": 12345678901234567890123}',
    }
    for name, raw in strange.items():
        yield WireCase(f"T20.{name}", calling(call(0, "look", raw, "a")), called(Call("look", raw, "a")))
    for name, raw in (("half a character", r'{"at": "\ud800"}'), ("NUL", r'{"at": "\u0000"}')):
        yield WireCase(f"T21.{name}", calling(call(0, "look", raw, "a")), called(Call("look", raw, "a")))


# --- bounds, order and further keys --------------------------------------------------------------------


def _bounds() -> Iterator[WireCase]:
    too_large = Outcome(error="permanent", code="answer_too_large", leaves=True)
    most = [Call("look", AT, f"call_{n}") for n in range(256)]
    yield WireCase("T22.256 calls", lambda: calling(*_fragments(most)), called(*most), "few")
    yield WireCase("T22.257 calls", lambda: _held(*_fragments([*most, LOOK])), too_large, "few")
    yield WireCase("T22.arguments", lambda: _held(call(0, "look", _long(MIB + 1), "a")), too_large, "few")


def _fragments(made: Sequence[Call]) -> Iterator[dict[str, Any]]:
    yield from (call(index, one.name, one.arguments, one.id) for index, one in enumerate(made))


def _long(size: int) -> str:
    return '{"at": "' + "x" * (size - len('{"at": ""}')) + '"}'


def _held(*fragments: Mapping[str, Any]) -> Reply:
    """Fragments of calls, after which the provider goes on, and says nothing for long."""
    return Reply(chunks=(sse(*map(calls, fragments)), Silence(400), event(finish())), headers=SSE)


def _further() -> Iterator[WireCase]:
    between = text("Hel"), calls(call(0, "look", AT, "a")), text("lo"), finish("tool_calls")
    parts = (("text", "Hel"), ("call", "look"), ("text", "lo"))
    order = Outcome(text="Hello", calls=(LOOK,), finish=FinishReason.TOOL_CALLS, parts=parts)
    yield WireCase("T23", streamed(*between), order)
    signed = {"google": {"thought_signature": "c2ln"}}
    keys: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
        "on the call": ({"extra_content": signed}, {}),
        "on its function": ({}, {"thought_signature": "c2ln"}),
        "on both": ({"provider_specific_fields": signed, "rank": 1.5}, {"signature": "c2ln"}),
    }
    for name, (beside, inside) in keys.items():
        yield WireCase(f"T25.{name}", calling(_with(beside, inside)), _sent_back(beside, inside))
    late = calls(call(0, "look", AT_1, "a")), calls({**call(0, None, AT_2), "extra_content": signed})
    yield WireCase("T25.late", streamed(*late, finish()), _sent_back({"extra_content": signed}, {}))


def _with(beside: Mapping[str, Any], inside: Mapping[str, Any]) -> dict[str, Any]:
    function = {"name": "look", "arguments": AT, **inside}
    return {"index": 0, "id": "a", "type": "function", "function": function, **beside}


def _sent_back(beside: Mapping[str, Any], inside: Mapping[str, Any]) -> Outcome:
    return Outcome(
        calls=(LOOK,),
        finish=FinishReason.TOOL_CALLS,
        replay={"tool_calls": [written("look", AT, "a", function=inside, **beside)]},
        replay_elsewhere={"tool_calls": [written("look", AT, OURS)]},
    )


CASES: tuple[WireCase, ...] = (
    *_places(),
    *_one_index(),
    *_ids(),
    *_names(),
    *_strays(),
    *_forms(),
    *_repeated(),
    *_cuts(),
    *_raw(),
    *_bounds(),
    *_further(),
)
