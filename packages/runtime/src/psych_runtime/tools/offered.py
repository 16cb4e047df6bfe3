"""What a log holds of a tool where it is offered."""

from __future__ import annotations

import hashlib

from psych_runtime_core.jsonvalue import encode_json
from psych_runtime_core.messages import ToolDefinition, class_of
from psych_runtime_core.records.facts import OfferedTool, ToolSourceKind


def offered_tool(definition: ToolDefinition, source: ToolSourceKind) -> OfferedTool:
    """Its name, source and class, and the digest of what a model is told of it."""
    told = encode_json({"description": definition.description, "parameters": definition.parameters})
    digest = hashlib.sha256(told).hexdigest()
    return OfferedTool(name=definition.name, source=source, tool_class=class_of(definition), digest=digest)
