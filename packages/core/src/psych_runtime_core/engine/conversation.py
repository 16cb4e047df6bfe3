"""A lane's conversation, folded from the log beside the state."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from psych_runtime_core.engine import wording
from psych_runtime_core.engine.media import stored_media
from psych_runtime_core.engine.notices import with_notices
from psych_runtime_core.engine.prompt import Checked, Origin, Prompt, system_text
from psych_runtime_core.ids import RunId, ToolCallId
from psych_runtime_core.messages import (
    AssistantMessage,
    Message,
    Part,
    SystemMessage,
    TextPart,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)
from psych_runtime_core.records import Record
from psych_runtime_core.records.facts import FailureKind, Sent, ToolOutcome
from psych_runtime_core.records.queue import QueueConsumed, QueueEnqueued
from psych_runtime_core.records.run import RunAdmitted
from psych_runtime_core.records.tool import ToolCallFinished, ToolCallStarted
from psych_runtime_core.records.turn import ModelCallFailed, ModelCallFinished, ModelCallStarted, TurnStarted
from psych_runtime_core.spoken import content_of_input
from psych_runtime_core.texts import text_of_result

# What every provider takes as the name of a tool.
_FOREIGN = re.compile(r"[^A-Za-z0-9_-]")
MAX_NAME = 64


class Conversation:
    """A fold of one lane's log into messages. Each is made once, so a request costs its new ones.

    An answer with calls is held back until the last of their results is in: no prompt parts them.
    """

    def __init__(self, system: str, lane: str = "") -> None:
        self._system = system
        self._lane = lane
        self._admitted = Origin(RunId(""), 0)
        self._catalogue: dict[str, None] = {}
        self._messages: list[Message] = []
        self._origins: list[Origin] = []
        self._media: list[int] = []
        self._pending: dict[str, Mapping[str, object]] = {}
        self._turn: _OpenTurn | None = None
        self._answers: dict[str, str] = {}
        self._sent_before = self._sent_now = self._sent_turn = 0
        self._checked = Checked()
        self._prompt: tuple[tuple[str, tuple[str, ...]], Prompt] | None = None
        self._system_messages: dict[str, SystemMessage] = {}

    @property
    def catalogue(self) -> tuple[str, ...]:
        """The tools that the lane was ever offered, in the order in which they are listed to its model."""
        return tuple(self._catalogue)

    def absorb(self, record: Record) -> None:
        """Take in the next record of the log, in amortised O(1)."""
        self._prompt = None
        if isinstance(record, QueueEnqueued):
            self._pending.setdefault(record.entry_id, record.payload)
        elif record.lane == self._lane:
            self._absorb_own(record)

    def prompt(self, block: str = "", notices: Sequence[str] = ()) -> Prompt:
        """What the model is sent now, its system prompt ending with `block`, its end with `notices`."""
        asked = block, tuple(notices)
        if self._prompt is None or self._prompt[0] != asked:
            self._prompt = asked, self._composed(*asked)
        return self._prompt[1]

    def _composed(self, block: str, notices: tuple[str, ...]) -> Prompt:
        """Copies the lists: the one cost of a prompt that grows with a log."""
        head = self._head(block)
        messages = [*head, *self._messages]
        if self._messages:
            messages[-1] = with_notices(messages[-1], notices)
        return Prompt(
            tuple(messages),
            (*(self._admitted for _ in head), *self._origins),
            media=tuple(len(head) + place for place in self._media),
            has_system=bool(head),
            previous=self._sent_before + len(head) if self._sent_before else 0,
            checked=self._checked,
        )

    def _head(self, block: str) -> tuple[SystemMessage, ...]:
        """The system message; the same object every time, as what encodes it may keep it."""
        text = system_text(self._system, block)
        if not text:
            return ()
        if text not in self._system_messages:
            self._system_messages[text] = SystemMessage(content=text)
        return (self._system_messages[text],)

    def _absorb_own(self, record: Record) -> None:
        match record:
            case RunAdmitted():
                self._admitted = _origin(record)
                self._say_as_user(record.input, _origin(record))
            case TurnStarted(repair=str() as repair):
                self._say(UserMessage(content=repair), _origin(record))
            case QueueConsumed():
                self._say_as_user(self._pending.pop(record.entry_id, {}), _origin(record))
            case ModelCallStarted():
                self._ask(record)
            case ModelCallFinished():
                self._list(record.sent)
                self._keep_notices(record.sent)
                self._answer(record)
            case ModelCallFailed():
                self._list(record.sent)
            case ToolCallStarted():
                self._start(record)
            case ToolCallFinished():
                self._finish(record)
            case _:
                pass

    def _ask(self, record: ModelCallStarted) -> None:
        """A turn sends one prompt, however often it is tried."""
        if record.turn != self._sent_turn:
            self._sent_before, self._sent_now = self._sent_now, len(self._messages)
            self._sent_turn = record.turn

    def _list(self, sent: Sent | None) -> None:
        """No tool ever moves: one that comes later is listed behind those that were there."""
        offered = sent.tools if sent is not None and sent.tools is not None else ()
        self._catalogue.update(dict.fromkeys(tool.name for tool in offered))

    def _keep_notices(self, sent: Sent) -> None:
        """What the model was told at the end of its request stays there."""
        if sent.notices and self._messages:
            self._messages[-1] = with_notices(self._messages[-1], sent.notices)

    def _say(self, message: Message, origin: Origin) -> None:
        if stored_media(message):
            self._media.append(len(self._messages))
        self._messages.append(message)
        self._origins.append(origin)

    def _say_as_user(self, payload: Mapping[str, object], origin: Origin) -> None:
        content = content_of_input(payload)
        if content:
            self._say(UserMessage(content=content), origin)

    def _answer(self, record: ModelCallFinished) -> None:
        message = _with_plain_names(record.message)
        if message.tool_calls:
            digests = {call.call_id: call.arguments_digest for call in record.calls}
            calls = {call.id: _OpenCall(call.name, digests[call.id]) for call in message.tool_calls}
            self._turn = _OpenTurn(message, _origin(record), calls)
        elif message.says_something:
            self._say(message, _origin(record))

    def _start(self, record: ToolCallStarted) -> None:
        call = self._turn.calls.get(record.call_id) if self._turn else None
        if call is not None:
            call.digest = record.arguments_digest
            call.edited = record.arguments if record.arguments is not None else call.edited

    def _finish(self, record: ToolCallFinished) -> None:
        turn = self._turn
        call = turn.calls.get(record.call_id) if turn else None
        if turn is None or call is None:
            return
        result = ToolResultMessage(
            call_id=record.call_id,
            name=call.name,
            content=_shown(self._result(call, record), record),
            is_error=record.outcome is not ToolOutcome.OK,
        )
        turn.results[record.call_id] = result, _origin(record)
        if len(turn.results) == len(turn.calls):
            self._release(turn)

    def _release(self, turn: _OpenTurn) -> None:
        self._turn = None
        self._say(turn.answer, turn.origin)
        for call_id in turn.calls:
            self._say(*turn.results[call_id])

    def _result(self, call: _OpenCall, record: ToolCallFinished) -> str:
        text = text_of_result(record)
        if record.failure is not None and record.failure.kind == FailureKind.REPEATED_CALL:
            answer = self._answers.get(call.digest)
            return text if answer is None else text + wording.known_answer(answer)
        if record.answer_digest is not None:
            self._answers[call.digest] = text
        return text if call.edited is None else wording.edited(call.edited) + text


@dataclass(slots=True)
class _OpenCall:
    """A call without a result: its name on the wire, and the digest of what it asks for or runs with."""

    name: str
    digest: str
    edited: Mapping[str, object] | None = None


@dataclass(slots=True)
class _OpenTurn:
    """An answer and its calls, in call order, with the results that are in."""

    answer: AssistantMessage
    origin: Origin
    calls: dict[ToolCallId, _OpenCall]
    results: dict[ToolCallId, tuple[ToolResultMessage, Origin]] = field(
        default_factory=dict[ToolCallId, tuple[ToolResultMessage, Origin]]
    )


def _shown(text: str, record: ToolCallFinished) -> str | tuple[Part, ...]:
    """A result with those of its files that the model takes."""
    return (TextPart(text=text), *record.media) if record.media else text


def _origin(record: Record) -> Origin:
    return Origin(record.run_id, record.seq)


def _with_plain_names(message: AssistantMessage) -> AssistantMessage:
    """`message` itself where every name is one that providers take."""
    if all(call.name == _plain(call.name) for call in message.tool_calls):
        return message
    parts = tuple(
        part.model_copy(update={"name": _plain(part.name)}) if isinstance(part, ToolCall) else part
        for part in message.parts
    )
    return message.model_copy(update={"parts": parts})


def _plain(name: str) -> str:
    return _FOREIGN.sub("_", name[:MAX_NAME]) or "_"
