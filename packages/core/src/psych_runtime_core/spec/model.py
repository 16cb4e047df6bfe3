"""Which model an agent asks, and how."""

from __future__ import annotations

from typing import Annotated, Literal, Self, TypeAlias

from pydantic import AfterValidator, Field, model_validator

from psych_runtime_core.jsonvalue import FrozenDict, JsonObject
from psych_runtime_core.refusal import Refusal, refuse
from psych_runtime_core.spec.base import FromList, Line, SpecModel, ToolName, Whole
from psych_runtime_core.spec.issues import IssueCode

# What a request sets itself, or from a field of its own.
REQUEST_KEYS = frozenset(
    {
        "max_completion_tokens",
        "max_tokens",
        "messages",
        "model",
        "n",
        "parallel_tool_calls",
        "prompt_cache_key",
        "reasoning_effort",
        "response_format",
        "stop",
        "stream",
        "stream_options",
        "temperature",
        "tool_choice",
        "tools",
        "top_p",
    }
)


def _free_keys(options: FrozenDict) -> FrozenDict:
    taken = [
        Refusal(IssueCode.CONFLICT, "the request sets this key itself", key, (key,))
        for key in options
        if key in REQUEST_KEYS
    ]
    if taken:
        refuse(*taken)
    return options


ReasoningEffort: TypeAlias = Literal["none", "minimal", "low", "medium", "high", "xhigh"]
OutputMode: TypeAlias = Literal["auto", "native", "tool", "prompted"]
PromptCache: TypeAlias = Literal["off", "auto", "long"]
InputKind: TypeAlias = Literal["text", "image", "audio", "video", "file"]
ModelName = Annotated[Line, Field(min_length=1, max_length=256)]
StopText = Annotated[Whole, Field(min_length=1, max_length=64)]


def _with_text(kinds: tuple[InputKind, ...]) -> tuple[InputKind, ...]:
    """Text is always accepted; the order says nothing."""
    return tuple(sorted({"text", *kinds}))


class ModelRef(SpecModel):
    """A model, those asked in its place when it fails, and the settings that hold for each of them.

    None sends nothing. `tool_choice` is `auto`, `none`, `required` or a tool's name; the last two bind the
    first turn only. `output_mode` says how an answer that must fit a schema is asked for; `prompt_cache`
    "long" asks for the longest retention known; `accepts` permits kinds of input. `options` are the
    provider's own settings and go to it as they are.
    """

    model: ModelName
    fallbacks: Annotated[tuple[ModelName, ...], Field(max_length=8), FromList] = ()
    temperature: float | None = Field(default=None, ge=0, le=2)
    top_p: float | None = Field(default=None, gt=0, le=1)
    max_output_tokens: int | None = Field(default=None, ge=1, le=10_000_000)
    reasoning_effort: ReasoningEffort | None = None
    tool_choice: ToolName = "auto"
    parallel_tool_calls: bool | None = None
    output_mode: OutputMode = "auto"
    prompt_cache: PromptCache = "auto"
    accepts: Annotated[tuple[InputKind, ...], FromList, AfterValidator(_with_text)] = ("text",)
    stop: Annotated[tuple[StopText, ...], Field(max_length=4), FromList] = ()
    options: Annotated[JsonObject, AfterValidator(_free_keys)] = Field(default_factory=FrozenDict)

    @property
    def ring(self) -> tuple[str, ...]:
        """The models in the order in which they are asked."""
        return (self.model, *self.fallbacks)

    @model_validator(mode="after")
    def _asks_each_model_once(self) -> Self:
        again = [
            Refusal(IssueCode.DUPLICATE_NAME, f"{name!r} is asked before", name, ("fallbacks", index))
            for index, name in enumerate(self.fallbacks)
            if name in self.ring[: index + 1]
        ]
        if again:
            refuse(*again)
        return self
