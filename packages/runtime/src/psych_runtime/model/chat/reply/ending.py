"""What the end of a stream tells of it, gathered on the way."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

from psych_runtime.model.chat.reply.cost import cost_in, cost_in_headers
from psych_runtime.model.chat.reply.text import text_of
from psych_runtime.model.chat.reply.usage import usage_in
from psych_runtime.model.chat.reply.words import says_failure
from psych_runtime.model.errors.replies import CallErrors
from psych_runtime.model.shapes import Object
from psych_runtime_core.errors import ModelError
from psych_runtime_core.jsonvalue import without_surrogates
from psych_runtime_core.messages import FinishReason
from psych_runtime_core.ports.model import StreamDone
from psych_runtime_core.usage import Cost, Usage

# Where figures stand beside `usage`. Few chunks of many have any.
_FIGURES = frozenset({"cost", "x_groq", "_hidden_params"})


class Ending:
    """The last of each that says something: providers repeat figures, count up, and end with zeros."""

    def __init__(self, headers: Mapping[str, str]) -> None:
        self.word: str | None = None
        self._headers = headers
        self._usage: Usage | None = None
        self._amount: Decimal | None = None
        self._names: dict[str, str] = {}

    @property
    def failed(self) -> bool:
        """Whether the finish reason says that the provider broke the answer off."""
        return says_failure(self.word)

    @property
    def has_figures(self) -> bool:
        """Whether usage or cost has come in the body."""
        return self._usage is not None or self._amount is not None

    def read_figures(self, chunk: Object, choice: Object) -> None:
        """Take usage and cost."""
        if chunk.get("usage") is None and "usage" not in choice and _FIGURES.isdisjoint(chunk):
            return
        self._usage = usage_in(chunk, choice) or self._usage
        amount = cost_in(chunk)
        # Zero is a price, and after a price it is one of the zeros at the end.
        if amount or self._amount is None:
            self._amount = amount

    def read_names(self, chunk: Object, choice: Object) -> None:
        """Take who answered, under which id, and why it ended."""
        for key in ("id", "model", "service_tier"):
            name: object = chunk.get(key)
            if isinstance(name, str) and name:
                self._names[key] = name
        word: object = choice.get("finish_reason")
        # A `false` on every chunk would make each of them the last.
        if word is not None and not isinstance(word, bool):
            self.word = without_surrogates(text_of(word)) or self.word

    def done(self, reason: FinishReason, errors: CallErrors) -> StreamDone:
        """The end of a stream that ended for `reason`."""
        names = self._masked_names(errors)
        return StreamDone(
            reason,
            self.word and errors.masked(self.word),
            self._usage,
            self._cost(names.get("model")),
            served_model=names.get("model"),
            response_id=names.get("id"),
            service_tier=names.get("service_tier"),
        )

    def told(self, error: ModelError, errors: CallErrors) -> None:
        """Give what is known of the price of a stream to the `error` that broke it off."""
        names = self._masked_names(errors)
        error.usage, error.cost = self._usage, self._cost(names.get("model"))
        error.served_model, error.service_tier = names.get("model"), names.get("service_tier")

    def _masked_names(self, errors: CallErrors) -> dict[str, str]:
        """They are recorded, so none keeps a key."""
        return {key: errors.masked(without_surrogates(name)) for key, name in self._names.items()}

    def _cost(self, model: str | None) -> Cost | None:
        amount = cost_in_headers(self._headers) if self._amount is None else self._amount
        return None if amount is None else Cost(amount=amount, model=model, source="provider")
