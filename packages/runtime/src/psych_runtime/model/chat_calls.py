"""Tool calls out of their fragments: each goes out in its turn, its whole name first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from psych_runtime.model.assemble import MAX_CALLS
from psych_runtime.model.chat_faults import Unreadable, too_large
from psych_runtime.model.chat_fragments import NO_EXTRAS, Fragment, HeldCall, Verdict, grown, place
from psych_runtime.model.chat_text import WholeText
from psych_runtime_core.arguments import MAX_ARGUMENTS_BYTES
from psych_runtime_core.frozen import FrozenDict, Json
from psych_runtime_core.jsonvalue import without_surrogates
from psych_runtime_core.ports.model import ToolCallDelta


class Calls:
    """The calls of one answer, numbered as they begin.

    A call is announced with its first arguments, since until then its name may grow, and never before one
    that began earlier. What comes before that waits.
    """

    def __init__(self) -> None:
        self._calls: list[_Call] = []
        self._announced = 0
        # Calls below it are to be announced as soon as they have a name.
        self._due = 0
        self._waiting = 0

    def __len__(self) -> int:
        return len(self._calls)

    @property
    def pending(self) -> bool:
        """Whether a call has begun and is not announced."""
        return self._announced < len(self._calls)

    def take(self, fragment: Fragment, chunk: int) -> list[ToolCallDelta]:
        """What a fragment of the chunk with that number lets out. Raises `Unreadable`."""
        placed = place(fragment, self._calls, chunk)
        if placed is Verdict.REPEATS:
            return []
        call = placed if isinstance(placed, _Call) else self._begun(fragment)
        call.add(fragment, chunk)
        if call.number < self._announced:
            return call.news()
        self._wait(call, fragment)
        return self._announce()

    def release(self) -> list[ToolCallDelta]:
        """Announces all that have a name: something else of the answer comes now."""
        self._due = len(self._calls)
        return self._announce()

    def end(self) -> list[ToolCallDelta]:
        """All that is left. Raises `Unreadable` for a call that never got a name."""
        left = self.release()
        if self.pending:
            raise Unreadable("nameless_call", f"tool call {self._announced} has no name")
        return [*left, *(ToolCallDelta(call.number, arguments_fragment=call.text.rest()) for call in self._halved())]

    def _begun(self, fragment: Fragment) -> _Call:
        if len(self._calls) == MAX_CALLS:
            raise too_large(f"the answer has over {MAX_CALLS} tool calls")
        call = _Call(index=fragment.index, id=fragment.id, number=len(self._calls))
        self._calls.append(call)
        return call

    def _wait(self, call: _Call, fragment: Fragment) -> None:
        self._waiting += len(fragment.arguments)
        if self._waiting > MAX_ARGUMENTS_BYTES:
            raise too_large(f"over {MAX_ARGUMENTS_BYTES} bytes of arguments came for tool calls without a name")
        if call.unsent:
            self._due = max(self._due, call.number + 1)

    def _announce(self) -> list[ToolCallDelta]:
        first = self._announced
        while self._announced < self._due and self._calls[self._announced].name:
            self._announced += 1
        return [call.first() for call in self._calls[first : self._announced]]
