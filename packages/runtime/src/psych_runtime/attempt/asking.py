"""What a model call asks: a function of the log and of what is offered now, so equal logs ask alike."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from psych_runtime.attempt.context import AttemptContext
from psych_runtime.model.structured import asked_mode, goes_along
from psych_runtime.tools.offer import Offer
from psych_runtime.tools.offered import offered_tool
from psych_runtime_core.engine import wording
from psych_runtime_core.engine.effects import CallModel
from psych_runtime_core.engine.notices import notices_of
from psych_runtime_core.engine.prompt import Prompt, system_prompt, system_text
from psych_runtime_core.engine.structured import answer_tool
from psych_runtime_core.ids import content_digest
from psych_runtime_core.jsonvalue import FrozenDict
from psych_runtime_core.messages import ToolDefinition
from psych_runtime_core.ports.model import ModelCallContext, ModelCapabilities, ModelRequest
from psych_runtime_core.records.facts import AskedMode, OfferedTool, Sent


class Listed(NamedTuple):
    """A tool as the model is told of it, and as the log keeps it."""

    definition: ToolDefinition
    offered: OfferedTool


@dataclass(frozen=True, slots=True)
class Asking:
    """One request of a lane. `able` is what the called model can do."""

    attempt: AttemptContext
    effect: CallModel
    able: ModelCapabilities
    mode: AskedMode | None
    listed: tuple[Listed, ...]

    @classmethod
    def of(cls, attempt: AttemptContext, effect: CallModel, offered: Offer) -> Asking:
        """Raises `ModelError` for an answer that cannot be asked of this model as the Spec wants it."""
        able = attempt.runtime.model.capabilities(effect.model)
        schema, mode = _schema(attempt), None
        if schema is not None:
            wanted = attempt.plan.spec.model.output_mode
            mode = asked_mode(wanted, schema, able, with_tools=bool(offered.tools))
        listed = tuple(_listed(offered, schema if mode == "tool" else None))
        return cls(attempt, effect, able, mode, _in_place(listed, attempt.conversation.catalogue))

    @property
    def block(self) -> str:
        """What the system prompt ends with."""
        schema = _schema(self.attempt)
        return wording.answer_block(schema) if self.mode == "prompted" and schema is not None else ""

    @property
    def notices(self) -> tuple[str, ...]:
        """What stands at the end of the newest message."""
        return notices_of(self.attempt.plan, self.attempt.state.lanes[self.effect.lane])

    @property
    def sent(self) -> Sent:
        """What the log keeps of the request: prompt and tools where they are new to it."""
        state = self.attempt.state
        system = system_text(system_prompt(self.attempt.plan.spec), self.block)
        prompt_hash = content_digest(state.digest_salt, system)
        tools = tuple(one.offered for one in self.listed)
        told = [[tool.name, tool.tool_class.value, tool.digest] for tool in tools]
        tools_hash = content_digest(state.digest_salt, told)
        return Sent(
            prompt_hash=prompt_hash,
            tools_hash=tools_hash,
            system_prompt=None if prompt_hash in state.prompts else system,
            tools=None if tools_hash in state.toolsets else tools,
            notices=self.notices,
            output_mode=self.mode,
        )

    def request(self, prompt: Prompt) -> ModelRequest:
        """The request that sends `prompt`."""
        ref, limits = self.attempt.plan.spec.model, self.attempt.plan.limits
        bound = ref.tool_choice if self.effect.turn == 1 or ref.tool_choice == "none" else "auto"
        return ModelRequest(
            model=self.effect.model,
            messages=prompt.messages,
            tools=tuple(one.definition for one in self.listed),
            tool_choice=bound if self.listed else "auto",
            parallel_tool_calls=ref.parallel_tool_calls,
            output_schema=self._bound,
            temperature=ref.temperature,
            top_p=ref.top_p,
            max_output_tokens=ref.max_output_tokens,
            reasoning_effort=ref.reasoning_effort,
            stop=ref.stop,
            prompt_cache=ref.prompt_cache,
            cache_breakpoints=() if ref.prompt_cache == "off" else prompt.breakpoints,
            idle_timeout_seconds=limits.stream_idle_seconds,
            options=ref.options,
        )

    def context(self, failures: int) -> ModelCallContext:
        """Who asks; `failures` are the failed tries of this turn."""
        state = self.attempt.state
        thread = f"{state.root_run_id}\x1f{self.effect.lane}"
        return ModelCallContext(
            scope=state.scope,
            run_id=state.run_id,
            lane=self.effect.lane,
            agent=self.attempt.plan.spec.name,
            turn=self.effect.turn,
            failures=failures,
            cache_key=hashlib.sha256(thread.encode()).hexdigest(),
        )

    @property
    def _bound(self) -> FrozenDict | None:
        schema = _schema(self.attempt)
        if schema is None or not goes_along(self.mode, schema, self.able, with_tools=bool(self.listed)):
            return None
        return schema


def _schema(attempt: AttemptContext) -> FrozenDict | None:
    schema = attempt.plan.spec.output_schema
    return schema if isinstance(schema, FrozenDict) else None


def _listed(offered: Offer, schema: FrozenDict | None) -> Iterator[Listed]:
    yield from map(Listed, offered.definitions, offered.offered)
    if schema is not None:
        definition = answer_tool(schema)
        yield Listed(definition, offered_tool(definition, "builtin"))


def _in_place(listed: tuple[Listed, ...], catalogue: tuple[str, ...]) -> tuple[Listed, ...]:
    """In the order of the lane's catalogue; those it never had come behind, by name."""
    places: Mapping[str, int] = {name: place for place, name in enumerate(catalogue)}
    last = len(places)
    return tuple(sorted(listed, key=lambda one: (places.get(one.definition.name, last), one.definition.name)))
