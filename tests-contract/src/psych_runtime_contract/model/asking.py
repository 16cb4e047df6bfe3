"""What a request may ask for, one thing at a time, and what its body must then tell: data, without a wire."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from psych_runtime_contract.model.playing import ASK
from psych_runtime_contract.model.playing import request as hello
from psych_runtime_core.jsonvalue import Json
from psych_runtime_core.messages import SystemMessage, ToolDefinition
from psych_runtime_core.ports.model import ModelRequest

SCHEMA: Json = {
    "type": "object",
    "properties": {"answer": {"type": "string"}},
    "required": ["answer"],
    "additionalProperties": False,
}
TOOLS = tuple(
    ToolDefinition(
        name=name,
        description=f"Does what is {name}.",
        parameters={"type": "object", "properties": {"at": {"type": "integer"}}},
    )
    for name in ("first", "second")
)


@dataclass(frozen=True, slots=True)
class Asked:
    """Something that is asked for: `fields` of the request, and what its body must tell under `name`."""

    name: str
    told: Json
    fields: dict[str, Any] = field(default_factory=dict[str, Any])
    may_be_left_out: bool = False
    """Since a server that nobody knows may refuse a body that tells it."""

    @property
    def id(self) -> str:
        """What a deviation calls it."""
        return f"Q.{self.name}"

    @property
    def request(self) -> ModelRequest:
        """What asks for it, and to say hello."""
        return replace(hello(), **self.fields)


ASKED = (
    Asked("model", "another-model", {"model": "another-model"}),
    Asked("system", "Be brief.", {"messages": (SystemMessage(content="Be brief."), ASK)}),
    Asked(
        "tools",
        [
            {"name": each.name, "description": each.description, "parameters": each.parameters}
            for each in TOOLS
        ],
        {"tools": TOOLS},
    ),
    Asked("tool_choice", "second", {"tools": TOOLS, "tool_choice": "second"}),
    Asked("parallel_tool_calls", False, {"tools": TOOLS, "parallel_tool_calls": False}, may_be_left_out=True),
    Asked("output_schema", SCHEMA, {"output_schema": SCHEMA}),
    Asked("temperature", 0.25, {"temperature": 0.25}),
    Asked("top_p", 0.5, {"top_p": 0.5}),
    Asked("max_output_tokens", 77, {"max_output_tokens": 77}),
    Asked("reasoning_effort", "low", {"reasoning_effort": "low"}),
    Asked("stop", ["END", "FIN"], {"stop": ("END", "FIN")}),
    Asked("options", {"seed": 7}, {"options": {"seed": 7}}),
)
