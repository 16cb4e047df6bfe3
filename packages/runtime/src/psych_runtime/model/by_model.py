"""One client that is several: which of them is asked follows from the name of the model."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import Protocol, cast, runtime_checkable

from psych_runtime.model.askable import fault_of_client
from psych_runtime.model.errors.table import advice
from psych_runtime_core.errors import CallSource, ModelError, ModelErrorKind
from psych_runtime_core.ports.model import (
    ModelCallContext,
    ModelCapabilities,
    ModelClient,
    ModelRequest,
    StreamEvent,
)


@runtime_checkable
class ManyProviders(Protocol):
    """What a client has besides when it asks several providers, and what whoever wraps it hands on."""

    def provider_of(self, model: str) -> str:
        """The `provider` of the client that answers for `model`."""
        ...


def provider_of(client: ModelClient, model: str) -> str:
    """Who really answers for `model`: private matter goes back to nobody else.

    Raises `ModelError` `model_not_found` for a model that nobody here is asked for.
    """
    return client.provider_of(model) if isinstance(client, ManyProviders) else client.provider


class ByModel:
    """A `ModelClient` that asks others by the name of the model, so that fallbacks cross providers.

    Keys are whole names, or begin one and end in `*`: `ByModel({"claude-*": a, "gpt-*": b, "*": c})`. A whole
    name wins, then the longest beginning. Raises `ValueError` for a key that is neither, `TypeError` for a
    value that is no client.
    """

    provider = "by_model"

    def __init__(self, clients: Mapping[str, ModelClient]) -> None:
        if not clients or not isinstance(cast("object", clients), Mapping):
            raise ValueError('ByModel has no clients; give {"name-*": client, "*": client}')
        for name, client in clients.items():
            if not name or "*" in name[:-1]:
                raise ValueError(f"{name!r} is no name of models; a * may stand at its end alone")
            if fault := fault_of_client(client):
                raise TypeError(f"the client of {name!r} is {fault}")
        self._clients = dict(clients)
        beginnings = (name[:-1] for name in clients if name.endswith("*"))
        self._beginnings = sorted(beginnings, key=len, reverse=True)

    @property
    def clients(self) -> Sequence[ModelClient]:
        """Those it asks, each once."""
        return tuple({id(client): client for client in self._clients.values()}.values())

    def client_for(self, model: str) -> ModelClient:
        """The client that is asked for `model`. Raises `ModelError` `model_not_found` for no one's."""
        client = self._found(model)
        if client is None:
            raise self._unknown(model)
        return client

    def provider_of(self, model: str) -> str:
        return provider_of(self.client_for(model), model)

    def capabilities(self, model: str) -> ModelCapabilities:
        """Those that the model's client names; the defaults for a model that nobody is asked for."""
        client = self._found(model)
        return ModelCapabilities() if client is None else client.capabilities(model)

    async def known_models(self, context: ModelCallContext) -> Sequence[str]:
        """The models of each client that it would be asked for; `()` as soon as one of them cannot say."""
        found: dict[str, None] = {}
        for client in self.clients:
            known = await client.known_models(context)
            if not known:
                return ()
            found.update(dict.fromkeys(model for model in known if self._found(model) is client))
        return tuple(found)

    async def stream(
        self, request: ModelRequest, context: ModelCallContext
    ) -> AsyncGenerator[StreamEvent, None]:
        async with aclosing(self.client_for(request.model).stream(request, context)) as events:
            async for event in events:
                yield event

    def _found(self, model: str) -> ModelClient | None:
        if model in self._clients and not model.endswith("*"):
            return self._clients[model]
        for beginning in self._beginnings:
            if model.startswith(beginning):
                return self._clients[f"{beginning}*"]
        return None

    def _unknown(self, model: str) -> ModelError:
        names = ", ".join(sorted(self._clients))
        words = f"No client is asked for {model!r}; the names are {names}."
        kind, code = ModelErrorKind.PERMANENT, "model_not_found"
        cure = advice(kind, code).format(provider="one of them")
        where: CallSource = {"provider": self.provider, "model": model, "begun": False}
        return ModelError(kind, f"{words} {cure}", code=code, **where)
