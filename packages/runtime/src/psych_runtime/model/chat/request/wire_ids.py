"""The ids of calls on the wire: the provider's own where that is safe, and always one for each call."""

from __future__ import annotations

import re
from hashlib import sha256
from typing import Literal

from psych_runtime_core.messages import ToolCall

_PLAIN = re.compile(r"[A-Za-z0-9_-]{1,40}")
_NINE = re.compile(r"[A-Za-z0-9]{9}")


class WireIds:
    """The ids of one conversation, given out in its order: the same calls get the same ids every time."""

    def __init__(self, form: Literal["any", "nine_alphanumerics"]) -> None:
        self._form = form
        self._of_call: dict[str, str] = {}
        self._taken: set[str] = set()

    def announce(self, call: ToolCall, *, own: bool) -> str:
        """The id of `call`; `own` says that the provider asked now is the one that made it."""
        chosen = self._chosen(call, own)
        self._taken.add(chosen)
        self._of_call[call.id] = chosen
        return chosen

    def of_result(self, call_id: str) -> str:
        """The id of the call that a result answers."""
        return self._of_call.get(call_id, call_id)

    def _chosen(self, call: ToolCall, own: bool) -> str:
        given = call.provider_id
        if own and given and given.strip() and given not in self._taken and self._may_stand(given):
            return given
        digest = sha256(call.id.encode()).hexdigest()
        if self._form == "nine_alphanumerics":
            return next(nine for nine in _nines(digest) if nine not in self._taken)
        plain = _PLAIN.fullmatch(call.id) is not None and call.id not in self._taken
        return call.id if plain else f"call_{digest[:24]}"

    def _may_stand(self, given: str) -> bool:
        return self._form == "any" or _NINE.fullmatch(given) is not None


def _nines(digest: str) -> list[str]:
    return [digest[start : start + 9] for start in range(len(digest) - 8)]
