"""An agent, as data."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from psych_runtime_core.spec.base import JsonSchema, Name, Named, Prose, SpecModel
from psych_runtime_core.spec.limits import Limits
from psych_runtime_core.spec.model import ModelRef
from psych_runtime_core.spec.policies import SuspensionPolicy
from psych_runtime_core.spec.tools import Tool


class AgentSpec(SpecModel):
    """What an agent is told, which model it asks, what it may call, and where it stops.

    `description` is the prompt when `instructions` is empty. A Run's input must fit `input_schema`, and its
    answer `output_schema`.
    """

    kind: Literal["agent"] = "agent"
    name: Name
    description: Prose = Field(default="", max_length=4_096)
    instructions: Prose = Field(default="", max_length=1_000_000)
    model: ModelRef
    tools: Named[Tool] = ()
    limits: Limits = Field(default_factory=Limits)
    suspension: SuspensionPolicy = Field(default_factory=SuspensionPolicy)
    input_schema: JsonSchema | None = None
    output_schema: JsonSchema | None = None
