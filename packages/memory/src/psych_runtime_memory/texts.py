"""What is kept of a Run's model calls in progress."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime

from psych_runtime_core.ports.live import LIFE, LiveChunk, Room, Tail, text_of


class Text:
    """The chunks of one text, all of one epoch."""

    def __init__(self, epoch: int) -> None:
        self.epoch = epoch
        self._chunks: list[LiveChunk] = []
        self._size = 0
        self.forget_at: datetime | None = None

    @property
    def tail(self) -> Tail:
        """Where it ends."""
        last = self._chunks[-1]
        return Tail(text_of(last), last.offset, last.length, self._size, self.epoch)

    def put(self, chunk: LiveChunk, now: datetime) -> None:
        self._chunks.append(chunk)
        self._size += len(chunk.body)
        self.forget_at = now + LIFE

    def chunk(self, number: int) -> LiveChunk | None:
        """The `number`-th chunk, from 0; None when it has not come yet."""
        return self._chunks[number] if number < len(self._chunks) else None


class RunTexts:
    """The texts of a Run, each for an hour after its last chunk."""

    def __init__(self) -> None:
        self._texts: dict[tuple[int, bool], Text] = {}

    def put(self, chunk: LiveChunk, epoch: int, now: datetime) -> None:
        """Keep a chunk, if there is room for it in a Run that was claimed `epoch` times."""
        room = Room.of([text.tail for text in self.texts(now)], epoch)
        has_room = room.take(chunk) is not None
        self._remove([call for call, text in self._texts.items() if text.epoch < room.epoch])
        if has_room:
            self._texts.setdefault(text_of(chunk), Text(chunk.epoch)).put(chunk, now)

    def texts(self, now: datetime) -> Collection[Text]:
        """What is kept, without what is too old."""
        self._remove([call for call, text in self._texts.items() if text.forget_at and text.forget_at <= now])
        return self._texts.values()

    def clear(self, call_seq: int | None = None) -> None:
        """Free what one call held, or all."""
        self._remove([call for call in self._texts if call_seq in {None, call[0]}])

    def _remove(self, calls: Iterable[tuple[int, bool]]) -> None:
        for call in calls:
            del self._texts[call]
