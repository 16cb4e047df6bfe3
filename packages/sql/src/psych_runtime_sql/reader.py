"""How far somebody has read a Run's live text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.live import LiveChunk, Tail, Text, text_of


@dataclass(slots=True)
class Reader:
    """How far somebody has read the texts of a Run, those of its newest epoch."""

    run_id: RunId
    epoch: int = 0
    ends: dict[Text, int] = field(default_factory=dict[Text, int])

    def look_at(self, tails: Sequence[Tail]) -> list[Tail]:
        """Those that lead on. What was cleared, or is of an older epoch, is forgotten."""
        newest = max([self.epoch, *(tail.epoch for tail in tails)])
        current = [tail for tail in tails if tail.epoch == newest]
        known = self.ends if newest == self.epoch else {}
        self.epoch, self.ends = newest, {tail.text: known.get(tail.text, 0) for tail in current}
        return [tail for tail in current if tail.end > self.ends[tail.text]]

    def takes(self, chunk: LiveChunk) -> bool:
        """Whether a chunk goes on where its text was read to; then it is read."""
        end, text = chunk.offset + chunk.length, text_of(chunk)
        goes_on = chunk.epoch == self.epoch and chunk.offset <= self.ends[text] < end
        if goes_on:
            self.ends[text] = end
        return goes_on
