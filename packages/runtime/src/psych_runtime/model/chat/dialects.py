"""How the providers of one wire differ: a row for each, chosen by the host that is asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal

from psych_runtime_core.jsonvalue import EMPTY_OBJECT, FrozenDict, Json
from psych_runtime_core.ports.model import ModelCapabilities


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """What one provider wants to be sent.

    `hosts` are matched whole and as endings behind a dot. `reasoning_replay` says on which messages of a
    model its own reasoning goes back to it: on none, on all, or on those that call tools. `call_ids` is the
    form that every call id must have, `options` what each request holds unless its own options say otherwise;
    `auth_header`, with `auth_scheme` before the key, carries the key.
    """

    name: str
    hosts: tuple[str, ...] = ()
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    stream_options: bool = True
    structured_output: Literal["none", "json", "schema"] = "none"
    structured_with_tools: bool = False
    parallel_tool_calls: bool = False
    reasoning_replay: Literal["never", "always", "tool_turns"] = "tool_turns"
    cache: Literal["none", "automatic", "breakpoints"] = "none"
    prompt_cache_key: bool = False
    call_ids: Literal["any", "nine_alphanumerics"] = "any"
    options: Mapping[str, Json] = EMPTY_OBJECT
    auth_header: str = "Authorization"
    auth_scheme: str = "Bearer"

    @property
    def capabilities(self) -> ModelCapabilities:
        """What a model of this provider can do, as far as the provider decides it."""
        return ModelCapabilities(
            structured_output=self.structured_output,
            structured_with_tools=self.structured_with_tools,
            cache=self.cache,
        )


_OPENAI = Dialect(
    name="openai",
    hosts=("api.openai.com",),
    max_tokens_field="max_completion_tokens",
    structured_output="schema",
    structured_with_tools=True,
    parallel_tool_calls=True,
    reasoning_replay="never",
    cache="automatic",
    prompt_cache_key=True,
)
_ROWS = (
    _OPENAI,
    replace(
        _OPENAI,
        name="azure",
        hosts=("openai.azure.com", "services.ai.azure.com", "cognitiveservices.azure.com"),
        auth_header="api-key",
        auth_scheme="",
    ),
    Dialect(
        name="openrouter",
        hosts=("openrouter.ai",),
        max_tokens_field="max_completion_tokens",
        structured_output="schema",
        structured_with_tools=True,
        parallel_tool_calls=True,
        reasoning_replay="always",
        cache="breakpoints",
        options=FrozenDict({"usage": FrozenDict({"include": True})}),
    ),
    Dialect(
        name="deepseek",
        hosts=("deepseek.com",),
        structured_output="json",
        reasoning_replay="tool_turns",
        cache="automatic",
    ),
    Dialect(
        name="mistral",
        hosts=("mistral.ai",),
        stream_options=False,
        structured_output="schema",
        parallel_tool_calls=True,
        reasoning_replay="always",
        call_ids="nine_alphanumerics",
    ),
    Dialect(
        name="groq",
        hosts=("groq.com",),
        max_tokens_field="max_completion_tokens",
        structured_output="schema",
        parallel_tool_calls=True,
        reasoning_replay="never",
        cache="automatic",
    ),
    Dialect(
        name="xai",
        hosts=("x.ai",),
        max_tokens_field="max_completion_tokens",
        structured_output="schema",
        parallel_tool_calls=True,
        reasoning_replay="never",
        cache="automatic",
    ),
    Dialect(
        name="gemini",
        hosts=("generativelanguage.googleapis.com",),
        structured_output="schema",
        reasoning_replay="never",
        cache="automatic",
    ),
    Dialect(name="ollama", hosts=("ollama.com",)),
    Dialect(name="other"),
)

DIALECTS: Mapping[str, Dialect] = MappingProxyType({row.name: row for row in _ROWS})


def dialect_of(host: str) -> Dialect:
    """The row of `host`, given in lower case; `other` for one that nobody knows."""
    for row in _ROWS:
        if any(host == known or host.endswith(f".{known}") for known in row.hosts):
            return row
    return DIALECTS["other"]
