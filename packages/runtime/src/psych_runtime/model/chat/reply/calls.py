"""Tool calls out of their fragments: each goes out in its turn, its whole name first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from psych_runtime.model.assemble import MAX_CALLS
from psych_runtime.model.chat.reply.extras import Extras
from psych_runtime.model.chat.reply.faults import Unreadable, too_large
from psych_runtime.model.chat.reply.fragments import Fragment
from psych_runtime.model.chat.reply.gathered import Room
from psych_runtime.model.chat.reply.held_call import HeldCall
from psych_runtime.model.chat.reply.opaque import text_size
from psych_runtime.model.chat.reply.places import Places, Verdict
from psych_runtime.model.chat.reply.text import WholeText
from psych_runtime_core.arguments import MAX_ARGUMENTS_BYTES
from psych_runtime_core.jsonvalue import Json, without_surrogates
from psych_runtime_core.ports.model import ToolCallDelta


class Calls:
    """The calls of one answer, numbered as they begin.

    A call is announced with its first arguments, since until then its name may grow, and never before one
    that began earlier. What comes before that waits.
    """

    def __init__(self, room: Room) -> None:
        self._room = room
        self._calls: list[_Call] = []
        self._places: Places[_Call] = Places()
        self._announced = 0
        # Calls below it are to be announced as soon as they have a name.
        self._due = 0

    def __len__(self) -> int:
        return len(self._calls)

    def take(self, fragment: Fragment, chunk: int) -> list[ToolCallDelta]:
        """What a fragment of the chunk with that number lets out. Raises `Unreadable`."""
        placed = self._places.place(fragment, chunk)
        if placed is Verdict.REPEATS:
            return []
        call = placed if isinstance(placed, _Call) else self._begun(fragment)
        self._places.unsettle(call)
        self._room.grow(call.add(fragment, chunk))
        self._places.settle(call, chunk)
        if call.number < self._announced:
            return call.news()
        if call.unsent:
            self._due = max(self._due, call.number + 1)
        return self._announce()

    def release(self) -> list[ToolCallDelta]:
        """Announces all that have a name: something else of the answer comes now."""
        self._due = len(self._calls)
        return self._announce() if self._announced < self._due else []

    def end(self) -> list[ToolCallDelta]:
        """All that is left. Raises `Unreadable` for a call that never got a name."""
        left = self.release()
        if self._announced < len(self._calls):
            raise Unreadable("nameless_call", f"tool call {self._announced} has no name")
        return [*left, *(delta for call in self._calls for delta in call.rest())]

    def _begun(self, fragment: Fragment) -> _Call:
        if len(self._calls) == MAX_CALLS:
            raise too_large(f"the answer has over {MAX_CALLS} tool calls")
        call = _Call(number=len(self._calls), index=fragment.index)
        self._calls.append(call)
        self._places.begin(call)
        return call

    def _announce(self) -> list[ToolCallDelta]:
        first = self._announced
        while self._announced < self._due and self._calls[self._announced].name:
            self._announced += 1
        return [delta for call in self._calls[first : self._announced] for delta in call.news()]


@dataclass(slots=True)
class _Call(HeldCall):
    """A call with what of it has not gone out yet."""

    unsent: list[str] = field(default_factory=list[str])
    _extras: Extras = field(default_factory=Extras)
    _news: bool = False
    _text: WholeText = field(default_factory=WholeText)
    _announced: bool = False
    _told_id: str | None = None

    def add(self, fragment: Fragment, chunk: int) -> int:
        """Take one more fragment: an id that comes late is adopted, and a name that went out is final.

        Returns how many bytes more the call makes.
        """
        named = self.name.size
        more = 0 if self.id else text_size(fragment.id or "")
        self.id = self.id or fragment.id
        if not self._announced:
            self.name.add(fragment.name)
        if self.arguments.length + len(fragment.arguments) > MAX_ARGUMENTS_BYTES:
            raise too_large(f"a tool call has over {MAX_ARGUMENTS_BYTES} bytes of arguments")
        if fragment.arguments:
            self.chunk = chunk
            self.arguments.add(fragment.arguments)
            self.unsent.append(fragment.arguments)
        return more + self.name.size - named + text_size(fragment.arguments) + self._gather(fragment.extras)

    def news(self) -> list[ToolCallDelta]:
        """What has come since the last time, in a delta or none; the first one has the whole name."""
        delta = ToolCallDelta(
            self.number,
            None if self.id == self._told_id else without_surrogates(self.id or ""),
            None if self._announced else without_surrogates(str(self.name)),
            self._text.feed("".join(self.unsent)),
            self._extras.whole() if self._news else None,
        )
        self._announced, self._told_id, self._news = True, self.id, False
        self.unsent.clear()
        return [] if delta == ToolCallDelta(self.number) else [delta]

    def rest(self) -> list[ToolCallDelta]:
        """Half a character that waited for its other half."""
        rest = self._text.rest()
        return [ToolCallDelta(self.number, arguments_fragment=rest)] if rest else []

    def _gather(self, extras: Mapping[str, Json]) -> int:
        before = self._extras.size
        if not self._extras.add(extras):
            return 0
        self._news = True
        # Those of a call that has begun go out once more, and whole.
        return self._extras.size - (0 if self._announced else before)
