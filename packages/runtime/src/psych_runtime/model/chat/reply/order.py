"""The pieces of an answer as lawful events: whole characters, marks that close, calls in their turn."""

from __future__ import annotations

from typing import TypeAlias

from psych_runtime.model.chat.reply.calls import Calls
from psych_runtime.model.chat.reply.delta import Piece
from psych_runtime.model.chat.reply.fragments import Fragment
from psych_runtime.model.chat.reply.gathered import Gathered, Room
from psych_runtime.model.chat.reply.items import ReasoningItems
from psych_runtime.model.chat.reply.reasoning import ReasoningItem
from psych_runtime.model.chat.reply.text import WholeText
from psych_runtime.model.shapes import members
from psych_runtime_core.jsonvalue import EMPTY_OBJECT, FrozenDict, Json
from psych_runtime_core.ports.model import (
    MediaDelta,
    OpaqueDelta,
    ReasoningDelta,
    RefusalDelta,
    StreamEvent,
    TextDelta,
)

Prose: TypeAlias = TextDelta | ReasoningDelta | RefusalDelta


class Order:
    """Takes the pieces of one answer. What must wait, waits: half a character, a mark, a name that grows."""

    def __init__(self) -> None:
        self._room = Room()
        self._calls, self._items = Calls(self._room), ReasoningItems(self._room)
        self._said: set[type[StreamEvent | ReasoningItem]] = set()
        self._prose: type[Prose] | None = None
        self._text = WholeText()
        self._mark, self._extra = EMPTY_OBJECT, Gathered()
        self._shown: Json = None

    @property
    def calls(self) -> int:
        """How many tool calls have begun."""
        return len(self._calls)

    @property
    def says_nothing(self) -> bool:
        """Whether nothing at all has come."""
        return not self._said and not self._calls

    @property
    def only_refuses(self) -> bool:
        """Whether a refusal has come, and no text, media or call."""
        return (
            RefusalDelta in self._said and not self._calls and self._said.isdisjoint({TextDelta, MediaDelta})
        )

    def take(self, piece: Piece, chunk: int) -> list[StreamEvent]:
        """The events that `piece`, of the chunk with that number, lets out. Raises `Unreadable`."""
        match piece:
            case TextDelta() | RefusalDelta():
                return self._more(type(piece), piece.text)
            case Fragment():
                deltas = self._calls.take(piece, chunk)
                begins = any(delta.name for delta in deltas)
                return [*(self._close() if begins else ()), *deltas]
            case ReasoningItem():
                self._said.add(ReasoningItem)
                self._items.take(piece)
                return []
            case MediaDelta() | OpaqueDelta():
                self._said.add(type(piece))
                return [*self._close(), *self._calls.release(), piece]
            case ReasoningDelta():
                return self._thought(piece)

    def end(self) -> list[StreamEvent]:
        """All that waited. Raises `Unreadable` for a call that never got a name."""
        return [*self._close(), *self._calls.end(), *self._items.end()]

    def _more(self, kind: type[Prose], text: str) -> list[StreamEvent]:
        self._said.add(kind)
        calls = self._calls.release()
        goes_on = kind is self._prose and not calls
        before: list[StreamEvent] = [] if goes_on else [*self._close(), *calls]
        self._prose = kind
        whole = self._text.feed(text)
        return [*before, kind(whole)] if whole else before

    def _thought(self, piece: ReasoningDelta) -> list[StreamEvent]:
        """More reasoning, of the field that showed some first: any other says the same again."""
        mark = members(piece.opaque)
        if self._shown not in (None, mark["field"]):
            return []
        self._shown = mark["field"]
        # A signature ends a thought: what comes behind it is the next one.
        ended = self._close() if piece.text and "signature" in self._extra else []
        events = self._more(ReasoningDelta, piece.text)
        before = self._extra.size
        for key, value in members(mark.get("extra")).items():
            self._extra.put(key, value)
        self._room.grow(self._extra.size - before)
        self._mark = mark
        return [*ended, *events]

    def _close(self) -> list[StreamEvent]:
        """The end of the prose that goes on now: a half that stays alone, and the mark of a thought."""
        kind, rest, mark, extra = self._prose, self._text.rest(), self._mark, self._extra
        self._prose, self._mark, self._extra = None, EMPTY_OBJECT, Gathered()
        if kind is ReasoningDelta:
            return [ReasoningDelta(rest, FrozenDict({**mark, "extra": extra.frozen()} if extra else mark))]
        return [kind(rest)] if kind and rest else []
