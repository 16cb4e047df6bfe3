"""What a tool may know of the Run it serves, and what it may reach."""

from __future__ import annotations

from dataclasses import InitVar, dataclass, field
from datetime import datetime
from threading import Event
from typing import TYPE_CHECKING

from pydantic import SecretStr

from psych_runtime.secrets.of_a_call import CallSecrets
from psych_runtime.tools.tool_http import ToolHttp
from psych_runtime_core.ids import RunId, ToolCallId
from psych_runtime_core.scope import Scope

if TYPE_CHECKING:
    from psych_runtime.runtime import Runtime


@dataclass(frozen=True, kw_only=True)
class ToolContext:
    """Whose Run a call serves, and which call it is; given to the parameter that is annotated with it.

    `run_number` counts the runs of this call, from 1. `idempotency_key` is equal over all of them and
    different for any other call. `deadline` is the earlier of the Run's and the call's own, aware. `http` is
    the one way out over HTTP, in this Scope. A context made by hand reaches nothing without a `runtime`.
    """

    scope: Scope
    run_id: RunId
    call_id: ToolCallId
    tool: str
    lane: str = ""
    turn: int = 1
    run_number: int = 1
    idempotency_key: str
    deadline: datetime | None = None
    runtime: InitVar[Runtime | None] = None
    http: ToolHttp = field(init=False, repr=False, compare=False)
    _secrets: CallSecrets = field(init=False, repr=False, compare=False)
    _cut: Event = field(default_factory=Event, init=False, repr=False, compare=False)

    def __post_init__(self, runtime: Runtime | None) -> None:
        resolver = None if runtime is None else runtime.secrets
        object.__setattr__(self, "http", ToolHttp(self.scope, runtime))
        object.__setattr__(self, "_secrets", CallSecrets(self.scope, resolver))

    @property
    def cancelled(self) -> bool:
        """Whether nobody waits for the call any more: a loop in a thread looks here and ends."""
        return self._cut.is_set()

    async def secret(self, name: str) -> SecretStr:
        """The secret that the tenant has under `name` now; no log will show it.

        Raises `CredentialNotFound`, and whatever the resolver raises.
        """
        return (await self._secrets.resolve(name)).secret


def cut_short(context: ToolContext) -> None:
    """Turn `context.cancelled` true."""
    context._cut.set()  # pyright: ignore[reportPrivateUsage]  # a tool is not given a way to cut itself


def secrets_of(context: ToolContext) -> CallSecrets:
    """What the call has looked up, for who sends or records in its place."""
    return context._secrets  # pyright: ignore[reportPrivateUsage]  # a tool sees secrets one by one, by name
