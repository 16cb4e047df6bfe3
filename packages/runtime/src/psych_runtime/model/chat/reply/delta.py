"""A delta, or a whole message, taken apart into pieces: reasoning, content, refusal, pictures, calls."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from psych_runtime.model.chat.reply.content import ContentPiece, content_pieces, image_pieces
from psych_runtime.model.chat.reply.fragments import Fragment, fragment_of
from psych_runtime.model.chat.reply.reasoning import THOUGHTS, ReasoningItem, reasoning_pieces, written
from psych_runtime.model.shapes import Object, items, members
from psych_runtime_core.ports.model import RefusalDelta, TextDelta

Piece: TypeAlias = ContentPiece | ReasoningItem | Fragment

# What stands beside the content. A stream has thousands of deltas, nearly all of content alone.
_RARE = frozenset({"refusal", "images", "tool_calls", "function_call"})
_BESIDE = _RARE | THOUGHTS


def pieces_of(delta: object, *, whole: bool = False) -> Iterator[Piece]:
    """What a delta says. In a `whole` message the calls are numbered by their place."""
    said = members(delta)
    content: object = said.get("content")
    if isinstance(content, str) and _BESIDE.isdisjoint(said):
        if content:
            yield TextDelta(content)
        return
    if not THOUGHTS.isdisjoint(said):
        yield from reasoning_pieces(said)
    yield from content_pieces(content)
    if not _RARE.isdisjoint(said):
        refusal = written(said.get("refusal"))
        if refusal:
            yield RefusalDelta(refusal)
        yield from image_pieces(said.get("images"))
        yield from _fragments(said, whole)


def _fragments(delta: Object, whole: bool) -> Iterator[Fragment]:
    entries = items(delta.get("tool_calls"))
    if not entries and delta.get("function_call"):
        # The older form, of one call at most.
        entries = [{"function": delta["function_call"]}]
    for place, entry in enumerate(entries):
        fragment = fragment_of(entry, place if whole else None)
        if fragment is not None:
            yield fragment
