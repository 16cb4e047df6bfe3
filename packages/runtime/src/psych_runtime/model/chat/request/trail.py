"""The conversations that were written before, so that a request costs its new messages and one join."""

from __future__ import annotations

import json
from collections.abc import Sequence
from operator import is_
from weakref import ref

from psych_runtime.model.chat.request.json_bytes import wire_bytes
from psych_runtime.model.chat.request.kept import Kept
from psych_runtime.model.chat.request.media import Block
from psych_runtime.model.chat.request.messages import Terms, WireConversation
from psych_runtime_core.messages import Message

# Weak references stand for the messages: an object has one, and it is never that of a later object.
_TRAILS: Kept[dict[Terms, Trail]] = Kept()


def written_messages(messages: Sequence[Message], terms: Terms) -> list[bytes]:
    """What each message became. The bytes live as long as the first message; a conversation that goes on
    from the same messages, by identity, is not written again. Raises `Unsendable`.
    """
    trails = _TRAILS.get(messages[0])
    if trails is None:
        trails = _TRAILS.put(messages[0], {})
    # A trail that fails on the way is half written: it comes back only when it is whole.
    trail = trails.pop(terms, None)
    if trail is None or not trail.leads_into(messages):
        trail = Trail(terms)
    trail.follow(messages)
    trails[terms] = trail
    return trail.pieces


class Trail:
    """One conversation under one set of terms, and which messages it is made of."""

    def __init__(self, terms: Terms) -> None:
        self._conversation = WireConversation(terms)
        self._taken: list[ref[Message]] = []

    @property
    def pieces(self) -> list[bytes]:
        return self._conversation.pieces

    def leads_into(self, messages: Sequence[Message]) -> bool:
        """Whether `messages` begin with the very objects that were taken."""
        return len(self._taken) <= len(messages) and all(map(is_, self._taken, map(ref, messages)))

    def follow(self, messages: Sequence[Message]) -> None:
        """Take what is new."""
        for message in messages[len(self._taken) :]:
            self._conversation.take(message)
            self._taken.append(ref(message))


def with_marks(pieces: Sequence[bytes], places: Sequence[int], mark: Block) -> list[bytes]:
    """`pieces` with `mark` on the last block at each place, or before it at the next that has a block."""
    marked = list(pieces)
    for place in places:
        for index in range(place, -1, -1):
            bearing = _marked(pieces[index], mark)
            if bearing is not None:
                marked[index] = bearing
                break
    return marked


def _marked(piece: bytes, mark: Block) -> bytes | None:
    messages = json.loads(b"[" + piece + b"]")
    content: object = messages[-1]["content"]
    if not isinstance(content, list):
        return None
    content[-1] |= mark
    return b",".join(map(wire_bytes, messages))
