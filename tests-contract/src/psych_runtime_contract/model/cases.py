"""What a provider sends, and what any client of its wire must make of it: data, without a client."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from typing import Literal, TypeAlias

from psych_runtime.testing.http_stub import Raw, Reply
from psych_runtime_core.jsonvalue import Json
from psych_runtime_core.messages import FinishReason
from psych_runtime_core.usage import Usage

ErrorKind: TypeAlias = Literal[
    "transient", "permanent", "context_overflow", "content_filter", "auth", "too_large"
]
"""The kinds of `ModelError`; `too_large` is a `ResponseTooLarge`."""

Cuts: TypeAlias = Literal["usual", "every", "few"]
"""How a reply is cut into packets: as all are, at every boundary too, or only coarsely since it is big."""


class Mark(Enum):
    """Stands in an outcome where a value would."""

    ABSENT = "absent"
    """The next request has no such key."""


ABSENT = Mark.ABSENT
KEY = "sk-contract-0123456789"
"""The key of a client that needs one: replies of the corpus repeat it, and no error may."""

Replayed: TypeAlias = Mapping[str, Json | Mark]


@dataclass(frozen=True, slots=True)
class Call:
    """A call as the model made it; `id` is the provider's."""

    name: str
    arguments: str
    id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What comes of a reply. Of an answer all that has a default is judged too, but where None says so.

    With `error`, only what is said of the error is judged, and `text`, if any, as what came before it.
    """

    text: str = ""
    reasoning: str = ""
    refusal: str = ""
    calls: tuple[Call, ...] = ()
    finish: FinishReason = FinishReason.STOP
    usage: Usage | None = None
    cost: Decimal | None = None
    """The provider's own figure, in USD."""
    parts: tuple[tuple[str, str], ...] | None = None
    """Type and text of each part, in order: the name of a call, the URL or type of media, the kind of opaque
    matter. None: the order is not judged."""
    raw_finish: str | None = None
    """The provider's word for the end. None: not judged."""

    error: ErrorKind | None = None
    code: str | None = None
    """None: not judged."""
    message_contains: tuple[str, ...] = ()
    message_hides: tuple[str, ...] = ()
    message_at_most: int = 8_192
    """Characters."""
    retry_after: float | tuple[float, float] | None = None
    """Seconds, or from the least to the most."""

    silence: tuple[float, float] | None = None
    """The least and the most seconds without a byte that it takes. None: not judged."""
    leaves: bool = False
    """The client must leave before the reply is over."""
    keeps: bool = False
    """The next call must go over the same connection."""
    replay: Replayed | None = None
    """What the message of the answer must hold in the next request, key by key."""
    replay_elsewhere: Replayed | None = None
    """The same where another provider made the message."""


@dataclass(frozen=True, slots=True)
class WireCase:
    """A reply, or what makes a big one, and its outcome.

    `id` is the row, and after a dot the variant: `B1.crlf`. Two calls of a function give equal replies.
    """

    id: str
    reply: Reply | Raw | Callable[[], Reply | Raw]
    expect: Outcome
    cuts: Cuts = "usual"

    @property
    def row(self) -> str:
        return self.id.partition(".")[0]

    def made(self) -> Reply | Raw:
        """The reply."""
        return self.reply if isinstance(self.reply, Reply | Raw) else self.reply()
