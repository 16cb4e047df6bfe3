"""A model client in front of another one."""

from __future__ import annotations

from collections.abc import Sequence

from psych_runtime.model.askable import fault_of_client
from psych_runtime.model.by_model import provider_of
from psych_runtime_core.ports.model import ModelCallContext, ModelCapabilities, ModelClient


class ModelProxy:
    """Passes on what a model is; the wrapper says what happens to a call. Raises `TypeError` for no model."""

    def __init__(self, model: ModelClient) -> None:
        if fault := fault_of_client(model):
            raise TypeError(f"the model is {fault}")
        self._model = model

    @property
    def provider(self) -> str:
        return self._model.provider

    @property
    def clients(self) -> Sequence[ModelClient]:
        """The one that is asked: by its transport the wrapper goes out too."""
        return (self._model,)

    def provider_of(self, model: str) -> str:
        """Who really answers for `model`."""
        return provider_of(self._model, model)

    def capabilities(self, model: str) -> ModelCapabilities:
        return self._model.capabilities(model)

    async def known_models(self, context: ModelCallContext) -> Sequence[str]:
        return await self._model.known_models(context)
