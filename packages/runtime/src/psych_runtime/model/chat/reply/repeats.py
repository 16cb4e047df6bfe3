"""What calls have said in whole, so that what is said once more is known without a look at each of them."""

from __future__ import annotations

from collections import Counter
from itertools import product
from typing import TypeAlias

from psych_runtime.model.chat.reply.arguments import digest_of
from psych_runtime.model.chat.reply.fragments import Fragment
from psych_runtime.model.chat.reply.held_call import HeldCall

# An index, an id, a digest of a name, each None where it is left open, and a digest of arguments.
_Fact: TypeAlias = tuple[int | None, str | None, bytes | None, bytes]
_WITHOUT_ID = ""


class Repeats:
    """Each call whose arguments were complete when its chunk ended, under all that may be left out of it."""

    def __init__(self) -> None:
        self._facts: Counter[_Fact] = Counter()
        self._of_call: dict[int, set[_Fact]] = {}
        self._fresh: dict[int, HeldCall] = {}

    def holds(self, fragment: Fragment, chunk: int, by: HeldCall | None = None) -> bool:
        """Whether a call, only `by` if it is given, has said in an earlier chunk all that `fragment` says."""
        self._end_chunks_before(chunk)
        facts = self._facts if by is None else self._of_call.get(by.number)
        if not fragment.arguments or not facts:
            return False
        name = digest_of(fragment.name) if fragment.name else None
        ids = (None,) if fragment.id is None else (fragment.id, _WITHOUT_ID)
        said = digest_of(fragment.arguments)
        return any((fragment.index, call_id, name, said) in facts for call_id in ids)

    def forget(self, number: int) -> None:
        """What the call with that number said."""
        self._fresh.pop(number, None)
        for fact in self._of_call.pop(number, ()):
            self._facts[fact] -= 1
            if not self._facts[fact]:
                del self._facts[fact]

    def note(self, call: HeldCall, chunk: int) -> None:
        """A call as it stands, changed by the chunk with that number."""
        if not call.arguments.closed:
            return
        if call.chunk < chunk:
            self._add(call)
        else:
            self._fresh[call.number] = call

    def _end_chunks_before(self, chunk: int) -> None:
        if self._fresh and next(iter(self._fresh.values())).chunk < chunk:
            for call in self._fresh.values():
                self._add(call)
            self._fresh.clear()

    def _add(self, call: HeldCall) -> None:
        facts = {
            (index, call_id, name, call.arguments.digest)
            for index, call_id, name in product(
                {None, call.index}, {None, call.id or _WITHOUT_ID}, {None, call.name.digest}
            )
        }
        self._of_call[call.number] = facts
        self._facts.update(facts)
