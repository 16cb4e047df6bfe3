"""How a Worker talks to a language model: one request out, a stream of events back."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias

from psych_runtime_core.ids import RunId
from psych_runtime_core.jsonvalue import EMPTY_OBJECT, Json
from psych_runtime_core.messages import FinishReason, Media, Message, ToolDefinition
from psych_runtime_core.scope import Scope
from psych_runtime_core.spec.model import REQUEST_KEYS, PromptCache, ReasoningEffort
from psych_runtime_core.usage import Cost, Usage


class ModelClient(Protocol):
    """A provider. It keeps nothing of a Run: any number of Runs, tenants and event loops use it at once."""

    @property
    def provider(self) -> str:
        """A stable short name, 1..64 characters: private matter goes back only to an equal one."""
        ...

    def capabilities(self, model: str) -> ModelCapabilities:
        """What a model can do. Pure, without I/O; the defaults for one that nobody knows."""
        ...

    async def known_models(self, context: ModelCallContext) -> Sequence[str]:
        """The names of the models it offers, `()` when it cannot say. Raises `AccessDenied` only."""
        ...

    def stream(self, request: ModelRequest, context: ModelCallContext) -> EventStream:
        """One try, answered event by event; no client retries, sleeps or falls back.

        Exactly one `StreamDone` comes, last. Call indices are 0, 1, 2 … by first appearance, and the first
        delta of each carries the whole name. No delta is empty and no text holds half a character. Closing
        the stream, or cancelling its task, closes its socket at once. Raises `ModelError`, `AccessDenied`,
        `CredentialNotFound` and `ResponseTooLarge`, nothing else.
        """
        ...


class EventStream(Protocol):
    """The events of one call, as an async generator gives them; who reads it holds it in `aclosing`."""

    def __aiter__(self) -> AsyncIterator[StreamEvent]: ...

    def aclose(self) -> Awaitable[object]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCapabilities:
    """What a model can do; the defaults are those of a model that nobody knows.

    `structured_output`: an answer can be bound to a schema, or at least to JSON; `structured_with_tools`:
    also while tools are offered. `tool_result_media`: the result of a tool may hold media, which else follow
    the results in a message of the user. `cache` says how a prompt is cached: by itself, or at marks. No call
    depends on `reasoning`, `context_window` and `max_output_tokens`: they are for whoever chooses a model;
    sizes are in tokens, None is not known.
    """

    tools: bool = True
    parallel_tool_calls: bool = True
    structured_output: Literal["none", "json", "schema"] = "none"
    structured_with_tools: bool = False
    tool_result_media: bool = False
    reasoning: bool = False
    cache: Literal["none", "automatic", "breakpoints"] = "none"
    context_window: int | None = None
    max_output_tokens: int | None = None

    def bound(self, *, with_tools: bool) -> Literal["none", "json", "schema"]:
        """What an answer can be bound to while tools are offered, or while none are."""
        return self.structured_output if self.structured_with_tools or not with_tools else "none"


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """What decides an answer, and nothing of who asks. None is not sent.

    `tool_choice` is `auto`, `none`, `required` or the name of a tool; `output_schema` binds the answer to a
    JSON Schema; `stop` are texts that end it. `prompt_cache` `long` asks to keep the prompt for as long as
    the provider can; `cache_breakpoints` are indices of messages after which it may be cached;
    `idle_timeout_seconds` is the silence after which the call is given up, 0 for none; `options` are for the
    provider as they stand. Raises `ValueError` for a value out of its bounds.
    """

    model: str
    messages: tuple[Message, ...]
    tools: tuple[ToolDefinition, ...] = ()
    tool_choice: str = "auto"
    parallel_tool_calls: bool | None = None
    output_schema: Mapping[str, Json] | None = None
    temperature: float | None = None
    top_p: float | None = None
    max_output_tokens: int | None = None
    reasoning_effort: ReasoningEffort | None = None
    stop: tuple[str, ...] = ()
    prompt_cache: PromptCache = "auto"
    cache_breakpoints: tuple[int, ...] = ()
    idle_timeout_seconds: float = 300.0
    options: Mapping[str, Json] = EMPTY_OBJECT

    def __post_init__(self) -> None:
        for fault in (*self._faults(), *self._taken_options()):
            raise ValueError(fault)

    def _taken_options(self) -> Iterator[str]:
        for key in sorted(REQUEST_KEYS.intersection(self.options)):
            yield f"options hold {key!r}, which the request sets itself; leave it out"

    def _faults(self) -> Iterator[str]:
        if not 1 <= len(self.model) <= 256:
            yield f"the name of a model has 1 to 256 characters, this one {len(self.model)}"
        if not self.messages:
            yield "a request has no messages; send at least one"
        if self.temperature is not None and not 0 <= self.temperature <= 2:
            yield f"temperature is {self.temperature}; give 0 to 2"
        if self.top_p is not None and not 0 < self.top_p <= 1:
            yield f"top_p is {self.top_p}; give more than 0 and at most 1"
        if self.max_output_tokens is not None and self.max_output_tokens < 1:
            yield f"max_output_tokens is {self.max_output_tokens}; give 1 or more, or None"
        if len(self.stop) > 4:
            yield f"{len(self.stop)} stop texts; give at most 4"
        if len(self.cache_breakpoints) > 4:
            yield f"{len(self.cache_breakpoints)} cache breakpoints; give at most 4"
        if not all(0 <= index < len(self.messages) for index in self.cache_breakpoints):
            yield f"cache breakpoints {self.cache_breakpoints} name no message; give indices of messages"
        if not self.idle_timeout_seconds >= 0:
            yield f"idle_timeout_seconds is {self.idle_timeout_seconds}; give 0 or more, 0 for no timeout"


@dataclass(frozen=True, slots=True)
class ModelCallContext:
    """Who asks, and where in which Run.

    `agent` is the name of the Spec; `failures` counts the failed calls recorded in this turn, so a call that
    is repeated after a crash carries the same number. `cache_key` is equal for all calls that share a prefix;
    `headers` are those of a trace.
    """

    scope: Scope
    run_id: RunId
    lane: str
    agent: str
    turn: int
    failures: int = 0
    cache_key: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str], hash=False)


# --- what a stream is made of --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TextDelta:
    """More of the answer. `opaque`, a provider's own mark, closes the part."""

    text: str
    opaque: Json = None


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """More of what the model thinks aloud. `opaque`, such as a signature, closes the part."""

    text: str
    opaque: Json = None


@dataclass(frozen=True, slots=True)
class RefusalDelta:
    """More of a refusal, in the model's words."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolCallDelta:
    """More of the call `index`, from 0. `name` and the provider's `id`, if any, come with its first delta."""

    index: int
    id: str | None = None
    name: str | None = None
    arguments_fragment: str = ""
    opaque: Json = None


@dataclass(frozen=True, slots=True)
class MediaDelta:
    """A whole picture or document of the answer."""

    media: Media
    name: str | None = None


@dataclass(frozen=True, slots=True)
class OpaqueDelta:
    """Provider matter with no readable form, kept in its place."""

    kind: str
    opaque: Json


@dataclass(frozen=True, slots=True)
class StreamDone:
    """The end of an answer. What the provider did not say is None.

    `raw_finish_reason` is its own word for why it ended; `served_model` the model that answered, which an
    alias may hide; `response_id` its id of the answer; `service_tier` the tier that is billed.
    """

    finish_reason: FinishReason
    raw_finish_reason: str | None = None
    usage: Usage | None = None
    cost: Cost | None = None
    served_model: str | None = None
    response_id: str | None = None
    service_tier: str | None = None


StreamEvent: TypeAlias = (
    TextDelta | ReasoningDelta | RefusalDelta | ToolCallDelta | MediaDelta | OpaqueDelta | StreamDone
)
