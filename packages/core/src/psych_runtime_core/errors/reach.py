"""What may not, or could not, be reached."""

from __future__ import annotations

from importlib.metadata import version
from typing import Literal

from psych_runtime_core.errors.base import PsychError


class AccessDenied(PsychError):
    """`subject` may not be reached; the text never names another tenant."""

    def __init__(self, subject: str, reason: str) -> None:
        self.subject, self.reason = subject, reason
        super().__init__(f"access to {subject} is denied: {reason}")


class CredentialNotFound(PsychError):
    """No secret of this name is there for this tenant: store it, or give the Runtime `secrets=`."""

    def __init__(self, scope: object, name: str) -> None:
        self.scope, self.name = scope, name
        super().__init__(f"credential {name!r} is not set for this tenant; add it to what `secrets=` reads")


class TransientError(PsychError):
    """Something outside failed in a way that may pass: trying again can help."""

    def __init__(self, message: str, retry_after_seconds: float | None = None) -> None:
        self.message, self.retry_after_seconds = message, retry_after_seconds
        super().__init__(message)


Phase = Literal["connect", "write", "read", "total", "redirect", "encoding"]


class RequestFailed(TransientError):
    """An HTTP request to `origin` got no reply, or not the whole of one: it failed in `phase`.

    `sent` False: certainly nothing of it was delivered. `timed_out`: nothing happened for as long as the
    phase may be silent, or the time in `total` is over. `detail` says what happened and quotes nobody.
    """

    def __init__(
        self, origin: str, phase: Phase, detail: str, *, sent: bool, timed_out: bool = False
    ) -> None:
        self.origin, self.phase, self.detail = origin, phase, detail
        self.sent, self.timed_out = sent, timed_out
        delivered = "it may have been delivered" if sent else "nothing was sent"
        super().__init__(f"the request to {origin} failed ({phase}): {detail}; {delivered}")


class ResponseTooLarge(PsychError):
    """A reply is over its cap, in decoded bytes: ask for less, or raise the cap."""

    def __init__(self, origin: str, limit_bytes: int) -> None:
        self.origin, self.limit_bytes = origin, limit_bytes
        super().__init__(
            f"the reply of {origin} has over {limit_bytes} bytes; ask for less, or raise the cap"
        )


# What the default install has brought already; for any other, what others wrote comes first, by hash.
_LOCKED = frozenset({"sqlite"})
_LOCK_ALL = "pip install --no-deps --require-hashes --requirement dist/locked-all.txt"


class MissingExtra(PsychError, ModuleNotFoundError):
    """An adapter's distribution is not installed. `command` brings it, ours from `dist` alone."""

    def __init__(self, module: str, extra: str) -> None:
        self.module, self.extra = module, extra
        wanted = f"'psych-runtime[{extra}]=={version('psych-runtime-core')}'"
        ours = f"pip install --no-index --find-links dist {wanted}"
        self.command = ours if extra in _LOCKED else f"{_LOCK_ALL} && {ours}"
        super().__init__(f"{module} is not installed; with the wheels in dist: {self.command}", name=module)
