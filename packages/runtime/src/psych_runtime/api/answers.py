"""What a person can answer to a Wait, as a value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from psych_runtime.api.arguments import json_object, of_kind
from psych_runtime_core.jsonvalue import Json

REMEMBERED = ("arguments", "tool")


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to one Wait.

    An approval is answered with `approved`. A refusal may say why in `payload={"reason": text}`, which the
    model is told; a yes may put `arguments` of at most 256 KiB in place of the call's. `remember` lets the
    decision stand for later calls of the tool, with equal `"arguments"` or with any (`"tool"`).
    """

    approved: bool | None = None
    payload: Mapping[str, Json] | None = None
    arguments: Mapping[str, Json] | None = None
    remember: Literal["arguments", "tool"] | None = None

    def __post_init__(self) -> None:
        if self.approved is not None:
            of_kind("approved", self.approved, bool)
        for name in ("payload", "arguments"):
            given = getattr(self, name)
            if given is not None:
                object.__setattr__(self, name, json_object(name, given))
        if self.remember is not None and of_kind("remember", self.remember, str) not in REMEMBERED:
            raise ValueError(f"remember is {self.remember!r}; give 'arguments', 'tool' or None")
        self._check_decision()

    def _check_decision(self) -> None:
        if self.arguments is not None and not self.approved:
            raise ValueError("arguments go with approved=True alone")
        if self.remember is not None and self.approved is None:
            raise ValueError("remember goes with a decision: say approved=True or approved=False")
        if self.approved and self.payload:
            raise ValueError("payload goes with no approved=True; to change what runs give arguments")
        if self.approved is False and self.payload:
            _check_reason(self.payload)


def _check_reason(payload: Mapping[str, Json]) -> None:
    if set(payload) != {"reason"} or not isinstance(payload["reason"], str):
        raise ValueError('payload of a refusal is {"reason": text}')
