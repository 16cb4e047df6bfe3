"""Where a fragment of a tool call belongs: by three rules, at one cost however many calls there are."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packages.runtime.tests.chat_chunks import ERRORS, call, calls
from packages.runtime.tests.effort import effort_of
from psych_runtime.model.chat.reply.faults import Unreadable
from psych_runtime.model.chat.reply.fragments import Fragment
from psych_runtime.model.chat.reply.held_call import HeldCall
from psych_runtime.model.chat.reply.names import GrowingName
from psych_runtime.model.chat.reply.places import Places, Verdict
from psych_runtime.model.chat.reply.stream import ChatStream


def held(index: int | None, call_id: str | None, name: str = "f", arguments: str = "{}") -> HeldCall:
    begun = HeldCall(0, index, call_id, GrowingName(name), chunk=1)
    begun.arguments.add(arguments)
    return begun


def places_of(begun: Sequence[HeldCall]) -> Places[HeldCall]:
    """All of them begun by the first chunk."""
    places: Places[HeldCall] = Places()
    for number, one in enumerate(begun):
        one.number = number
        places.begin(one)
        places.settle(one, 1)
    return places


OPEN, REPEAT = Verdict.OPENS, Verdict.REPEATS


@pytest.mark.parametrize(
    ("fragment", "begun", "placed"),
    [
        pytest.param(Fragment(0, "a", "f", "{}"), [held(0, "a")], REPEAT, id="all again"),
        pytest.param(Fragment(0, None, "", "{}"), [held(0, "a")], REPEAT, id="no id and no name"),
        pytest.param(Fragment(0, "a", "f", "{}"), [held(0, None)], REPEAT, id="an id that comes late"),
        pytest.param(Fragment(None, None, "", "{}"), [held(3, "a")], REPEAT, id="no index"),
        pytest.param(Fragment(0, "a", "g", "{}"), [held(0, "a")], 0, id="another name repeats nothing"),
        pytest.param(
            Fragment(0, "a", "f", "{"), [held(0, "a", "f", "{")], 0, id="incomplete repeats nothing"
        ),
        pytest.param(Fragment(0, None, "", "1"), [held(0, "a", "f", "1")], 0, id="a number may go on"),
        pytest.param(Fragment(1, "a", "f", "{}"), [held(0, "a")], OPEN, id="another index repeats nothing"),
        pytest.param(Fragment(None, None, "f"), [], OPEN, id="a name, none is open"),
        pytest.param(Fragment(1, None, "g"), [held(0, None)], OPEN, id="a name, the index is unseen"),
        pytest.param(Fragment(1, "b"), [held(0, "a")], OPEN, id="an id, the index is unseen"),
        pytest.param(Fragment(0, "b", "g"), [held(0, "a")], OPEN, id="a name, another id"),
        pytest.param(Fragment(None, "b", "g"), [held(None, "a")], OPEN, id="a name, another id, no index"),
        pytest.param(Fragment(0, None, "g", "["), [held(0, "a")], OPEN, id="arguments after complete ones"),
        pytest.param(Fragment(None, None, "g", "["), [held(0, None)], OPEN, id="the same without an index"),
        pytest.param(Fragment(0, None, "f", "}"), [held(0, None, "f", "{")], 0, id="not before they are"),
        pytest.param(Fragment(0, None, "f", " "), [held(0, None)], 0, id="blanks are no arguments"),
        pytest.param(Fragment(0, "a", "f", "["), [held(0, "a")], 0, id="nor with the same id"),
        pytest.param(Fragment(0, "b", "", "}"), [held(0, "a"), held(1, "b")], 0, id="at its index first"),
        pytest.param(Fragment(None, "a", "", "}"), [held(0, "a"), held(1, "b")], 0, id="else of its id"),
        pytest.param(Fragment(None, "x", "", "}"), [held(0, "a"), held(1, "b")], 1, id="else the last one"),
        pytest.param(Fragment(7, None, "", "}"), [held(0, "a"), held(1, "b")], 1, id="at no index: the last"),
    ],
)
def test_a_fragment_has_its_place(fragment: Fragment, begun: list[HeldCall], placed: Verdict | int) -> None:
    found = places_of(begun).place(fragment, 2)
    assert found is (placed if isinstance(placed, Verdict) else begun[placed])


def test_within_a_chunk_nothing_repeats() -> None:
    assert places_of([held(0, None)]).place(Fragment(0, None, "f", "{}"), 1) is Verdict.OPENS
    with pytest.raises(Unreadable):
        places_of([]).place(Fragment(0, None, "", "{}"), 1)


def test_an_id_that_comes_late_belongs_to_the_call_that_began_first() -> None:
    first, second = held(0, None, arguments="{"), held(1, "a", arguments="{")
    places = places_of([first, second])
    first.id = "a"
    places.settle(first, 2)
    assert places.place(Fragment(None, "a", "", "}"), 3) is first


def test_a_call_is_repeated_under_the_name_that_it_has_by_now() -> None:
    one, other = held(0, "a"), held(1, "b")
    places = places_of([one, other])
    assert places.place(Fragment(0, "a", "f", "{}"), 2) is REPEAT
    places.unsettle(other)
    other.chunk = 2
    places.settle(other, 2)
    places.unsettle(one)
    one.name.add("g")
    places.settle(one, 2)
    assert places.place(Fragment(0, "a", "f", "{}"), 2) is one
    assert places.place(Fragment(0, "a", "fg", "{}"), 2) is REPEAT
    assert places.place(Fragment(1, "b", "", "{}"), 2) is other


# --- the same as a look at every call ------------------------------------------------------------------


class Plain:
    """The rules in their own words, with no index of anything."""

    def __init__(self) -> None:
        self.calls: list[HeldCall] = []
        self.said: list[str] = []

    def place(self, fragment: Fragment, chunk: int) -> Verdict | int:
        at = self._continued(fragment)
        fits = at is not None and (not fragment.name or fragment.name.startswith(str(self.calls[at].name)))
        asked = [one.number for one in self.calls if not fits or one.number == at]
        if any(self._repeats(fragment, number, chunk) for number in asked):
            return Verdict.REPEATS
        return Verdict.OPENS if at is None else at

    def _continued(self, fragment: Fragment) -> int | None:
        at = self._held(fragment)
        if self._opens(fragment, at):
            return None
        if at is None:
            same = (one.number for one in self.calls if fragment.id and one.id == fragment.id)
            at = next(same, len(self.calls) - 1 if self.calls else None)
        if at is None:
            raise Unreadable("malformed_event", "of no call")
        return at

    def _repeats(self, fragment: Fragment, number: int, chunk: int) -> bool:
        one = self.calls[number]
        return (
            chunk > one.chunk
            and fragment.arguments != ""
            and fragment.index in (None, one.index)
            and (fragment.id is None or one.id in (None, fragment.id))
            and fragment.name in ("", str(one.name))
            and one.arguments.closed
            and self.said[number] == fragment.arguments
        )

    def _held(self, fragment: Fragment) -> int | None:
        here = [one for one in self.calls if fragment.index in (None, one.index)]
        same = [one.number for one in here if fragment.id and one.id == fragment.id]
        return same[0] if same else here[-1].number if here else None

    def _opens(self, fragment: Fragment, at: int | None) -> bool:
        if not fragment.name:
            return at is None and fragment.index is not None and fragment.id is not None
        if at is None:
            return True
        one = self.calls[at]
        if fragment.id is not None and one.id is not None:
            return fragment.id != one.id
        return fragment.arguments.strip() != "" and one.arguments.closed


FRAGMENTS = st.builds(
    Fragment,
    st.sampled_from([None, 0, 1]),
    st.sampled_from([None, "a", "b"]),
    st.sampled_from(["", "f", "ff"]),
    st.sampled_from(["", "{}", "{", "}"]),
)


@settings(max_examples=500)
@given(st.lists(st.tuples(FRAGMENTS, st.booleans()), min_size=2, max_size=12))
def test_a_fragment_is_placed_as_if_each_call_were_looked_at(told: list[tuple[Fragment, bool]]) -> None:
    places, plain, chunk = Places[HeldCall](), Plain(), 1
    for fragment, next_chunk in told:
        chunk += next_chunk
        try:
            expected = plain.place(fragment, chunk)
        except Unreadable:
            with pytest.raises(Unreadable):
                places.place(fragment, chunk)
            continue
        found = places.place(fragment, chunk)
        assert (found if isinstance(found, Verdict) else found.number) == expected
        if expected is Verdict.REPEATS:
            continue
        if expected is Verdict.OPENS:
            plain.calls.append(HeldCall(len(plain.calls), fragment.index))
            plain.said.append("")
            places.begin(plain.calls[-1])
        one = plain.calls[-1] if isinstance(expected, Verdict) else plain.calls[expected]
        places.unsettle(one)
        one.id = one.id or fragment.id
        one.name.add(fragment.name)
        if fragment.arguments:
            one.chunk = chunk
            one.arguments.add(fragment.arguments)
            plain.said[one.number] += fragment.arguments
        places.settle(one, chunk)


# --- at what cost --------------------------------------------------------------------------------------

STRAYS = {
    "blanks": {"function": {"arguments": " "}},
    "an id that nobody has": {"id": "x", "function": {"arguments": "{}"}},
    "an id that somebody has": {"id": "c0", "function": {"arguments": "]"}},
    "what all have said": {"function": {"arguments": "{}"}},
    "an index that nobody has": {"index": 999, "function": {"arguments": "{}"}},
    "part of a name": {"index": 0, "function": {"name": "g"}},
}


@pytest.mark.parametrize("stray", STRAYS.values(), ids=STRAYS)
def test_a_fragment_costs_no_more_among_many_calls_than_beside_one(stray: dict[str, object]) -> None:
    def cost(number: int) -> int:
        chat = ChatStream(ERRORS)
        chat.feed(calls(*(call(i, f"c{i}", "f", "{}") for i in range(number))))
        chat.feed(calls())
        # Once for each call they are ready to be repeated; of that every later fragment is free.
        chat.feed(calls(call(0, None, None, "")))
        chat.feed(calls({"function": {"arguments": "{}"}}))
        return effort_of(lambda: chat.feed(calls(*[stray] * 500)))

    assert cost(256) <= 1.1 * cost(2)


def test_a_name_that_grows_costs_its_length_and_not_its_square() -> None:
    def cost(pieces: int) -> int:
        chat = ChatStream(ERRORS)
        chat.feed(calls(call(0, "a"), {"index": 1, "id": "b", "function": {"name": "n", "arguments": "{}"}}))
        chat.feed(calls(call(0, "a")))
        return effort_of(lambda: chat.feed(calls(*[call(1, None, "x")] * pieces)))

    assert cost(4_000) <= 10 * 1.1 * cost(400)
