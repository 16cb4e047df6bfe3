"""Where a piece of a tool call belongs: one decision, by three rules, whatever the number of calls."""

from __future__ import annotations

from enum import Enum
from typing import Generic, TypeVar

from psych_runtime.model.chat.reply.faults import malformed
from psych_runtime.model.chat.reply.fragments import Fragment
from psych_runtime.model.chat.reply.held_call import HeldCall
from psych_runtime.model.chat.reply.repeats import Repeats

AnyCall = TypeVar("AnyCall", bound=HeldCall)


class Verdict(Enum):
    """What a fragment is, when it does not continue a call."""

    REPEATS = "it says once more what a call has said"
    OPENS = "it begins a call"


class Places(Generic[AnyCall]):
    """The calls that have begun, each found by what a fragment says of it."""

    def __init__(self) -> None:
        self._last: AnyCall | None = None
        self._last_at: dict[int, AnyCall] = {}
        # By an id, and by an id at an index, the call that began first.
        self._first_of: dict[tuple[int | None, str], AnyCall] = {}
        self._repeats = Repeats()

    def place(self, fragment: Fragment, chunk: int) -> Verdict | AnyCall:
        """Whether `fragment`, of the chunk with that number, repeats or opens a call, or what it continues.

        Raises `Unreadable` for a fragment of no call.
        """
        continued = self._continued(fragment)
        # What may well be the next piece of a call is never taken for the words of another one.
        fits = continued is not None and (not fragment.name or continued.name.begins(fragment.name))
        if self._repeats.holds(fragment, chunk, continued if fits else None):
            return Verdict.REPEATS
        return continued or Verdict.OPENS

    def begin(self, call: AnyCall) -> None:
        """One more call, the last of all so far."""
        self._last = call
        if call.index is not None:
            self._last_at[call.index] = call

    def unsettle(self, call: AnyCall) -> None:
        """A call is about to change: it says no longer what it said."""
        self._repeats.forget(call.number)

    def settle(self, call: AnyCall, chunk: int) -> None:
        """A call has changed, by the chunk with that number."""
        if call.id is not None:
            for key in ((None, call.id), (call.index, call.id)):
                first = self._first_of.setdefault(key, call)
                # An id may come late, to a call that began before others of the same id.
                if call.number < first.number:
                    self._first_of[key] = call
        self._repeats.note(call, chunk)

    def _continued(self, fragment: Fragment) -> AnyCall | None:
        """The call that `fragment` continues, unless it opens one."""
        held = self._held(fragment)
        if _opens(fragment, held):
            return None
        held = held or self._of_id(None, fragment.id) or self._last
        if held is None:
            raise malformed("a piece of a tool call came before any call had begun")
        return held

    def _held(self, fragment: Fragment) -> AnyCall | None:
        """The call that is held at the fragment's index, or of its id, or, when it has no index, the last."""
        last = self._last if fragment.index is None else self._last_at.get(fragment.index)
        return self._of_id(fragment.index, fragment.id) or last

    def _of_id(self, index: int | None, call_id: str | None) -> AnyCall | None:
        return None if call_id is None else self._first_of.get((index, call_id))


def _opens(fragment: Fragment, held: HeldCall | None) -> bool:
    if not fragment.name:
        return held is None and fragment.index is not None and fragment.id is not None
    if held is None or not _may_be(fragment.id, held.id):
        return True
    same = fragment.id is not None and fragment.id == held.id
    return not same and bool(fragment.arguments.strip()) and held.arguments.closed


def _may_be(said: str | None, held: str | None) -> bool:
    """Whether two ids can be those of one call: an id may come late, or not again."""
    return said is None or held is None or said == held
