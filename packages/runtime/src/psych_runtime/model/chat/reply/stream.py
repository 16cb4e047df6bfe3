"""A reply in the form of chat completions, chunk by chunk, as the events of a stream."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NoReturn

from psych_runtime.model.chat.reply.delta import Piece, pieces_of
from psych_runtime.model.chat.reply.ending import Ending
from psych_runtime.model.chat.reply.faults import Unreadable
from psych_runtime.model.chat.reply.fragments import Fragment
from psych_runtime.model.chat.reply.order import Order
from psych_runtime.model.chat.reply.words import finish_of
from psych_runtime.model.errors.replies import NO_HEADERS, CallErrors, in_band_error, request_id_of
from psych_runtime.model.shapes import Object, choice_of, members
from psych_runtime_core.errors import ModelError, ModelErrorKind
from psych_runtime_core.ports.model import StreamEvent


class ChatStream:
    """Reads one reply; of several choices the first. Text is given on and not kept.

    `headers` are those of the reply: the provider's id of the call, and its cost where the body names none.
    """

    def __init__(self, errors: CallErrors, headers: Mapping[str, str] = NO_HEADERS) -> None:
        self._errors, self._headers = errors, headers
        self._order, self._ending = Order(), Ending(headers)
        self._chunks = 0
        self._streamed: set[type[Piece]] = set()

    @property
    def request_id(self) -> str | None:
        """The provider's id of the call."""
        return request_id_of(self._headers, self._errors)

    @property
    def finished(self) -> bool:
        """Whether a finish reason has come: what is missing behind it makes no answer worse."""
        return self._ending.word is not None

    def feed(self, chunk: object, event: str | None = None) -> list[StreamEvent]:
        """The events that one parsed chunk lets out; one that is no object holds none.

        `event` is the name of its server-sent event: under `error` any chunk is one, text too. Raises
        `ModelError` for an error of the provider, and for what cannot be read.

        Behind a finish reason an error that may pass takes nothing from the answer, as little as a connection
        that breaks there: the provider has said that it is whole, and asking again would pay for it twice.
        One that is a judgement, such as that of a filter, speaks of the answer itself.
        """
        error = in_band_error(chunk, self._errors, event=event, headers=self._headers)
        if error is not None:
            self.late(chunk)
            if self._ending.failed or not self.finished or error.kind is not ModelErrorKind.TRANSIENT:
                raise error
            return []
        found = members(chunk)
        if not found:
            return []
        self._chunks += 1
        try:
            return list(self._read(found))
        except Unreadable as fault:
            self._fail(fault)

    def late(self, chunk: object) -> None:
        """Take a chunk that came after the mark of the end: its usage and cost count, and nothing else."""
        self._ending.read_figures(members(chunk), choice_of(members(chunk)))

    def end(self, done_seen: bool) -> list[StreamEvent]:
        """What waited, and the end; `done_seen` says that the mark of the end has come.

        Raises the transient `ModelError` `truncated` for a stream without an end, `empty_response` for one
        that says nothing, `nameless_call`, and one in the provider's word for an answer that it broke off.
        """
        try:
            return self._ended(done_seen)
        except Unreadable as fault:
            self._fail(fault)

    def whole(self, reply: object) -> list[StreamEvent]:
        """The events of a whole reply in JSON. Raises `not_a_model` for a document of another kind."""
        events = self.feed(reply)
        if not isinstance(members(reply).get("choices"), list):
            words = "the reply is JSON, and no answer of a model: it has no `choices`"
            self._fail(Unreadable("not_a_model", words, ModelErrorKind.PERMANENT))
        return [*events, *self.end(done_seen=True)]

    def broke_off(self, error: ModelError) -> ModelError:
        """`error`, which ended this reply, with what the reply had told of its price before it."""
        if self._chunks or self._ending.has_figures:
            error.begun = True
            self._ending.told(error, self._errors)
        return error

    def _read(self, chunk: Object) -> Iterator[StreamEvent]:
        choice = choice_of(chunk)
        self._ending.read_figures(chunk, choice)
        self._ending.read_names(chunk, choice)
        for piece in pieces_of(choice.get("delta")):
            self._streamed.add(type(piece))
            yield from self._order.take(piece, self._chunks)
        if "message" in choice:
            for piece in self._unsaid(choice["message"]):
                yield from self._order.take(piece, self._chunks)

    def _unsaid(self, message: object) -> Iterator[Piece]:
        """The pieces of a whole message that no delta carried."""
        known = self._order.calls if Fragment in self._streamed else 0
        for piece in pieces_of(message, whole=True):
            if isinstance(piece, Fragment) and known:
                known -= 1
            elif isinstance(piece, Fragment) or type(piece) not in self._streamed:
                yield piece

    def _ended(self, done_seen: bool) -> list[StreamEvent]:
        if not self.finished and not done_seen and self._chunks:
            raise Unreadable("truncated", "the stream broke off before the end of the answer")
        if not self.finished and self._order.says_nothing:
            raise Unreadable("empty_response", "the stream ended, and the model had said nothing")
        calls, only_refuses = self._order.calls > 0, self._order.only_refuses
        reason = finish_of(self._ending.word, calls=calls, only_refusal=only_refuses)
        return [*self._order.end(), self._ending.done(reason, self._errors)]

    def _fail(self, fault: Unreadable) -> NoReturn:
        raise self._errors.of_ours(
            fault.kind, fault.words, code=fault.code, request_id=self.request_id
        ) from None
