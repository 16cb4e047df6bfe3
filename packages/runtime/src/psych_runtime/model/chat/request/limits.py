"""What a request may hold; one that holds more, or what its wire cannot carry, is never sent."""

from __future__ import annotations

from psych_runtime.model.assemble import MAX_MEDIA_BYTES
from psych_runtime_core.errors import PsychError

MEBIBYTE = 1024 * 1024
MAX_SYSTEM_BYTES = MEBIBYTE
MAX_MEDIA = 50
MAX_BODY_BYTES = 64 * MEBIBYTE


class Unsendable(PsychError):
    """A request that stays here: why, and the `code` of the `ModelError` that says so."""

    def __init__(self, code: str, words: str) -> None:
        self.code, self.words = code, words
        super().__init__(words)


def check_system(size_bytes: int) -> None:
    """Raise `Unsendable` for a system prompt beyond its limit."""
    if size_bytes > MAX_SYSTEM_BYTES:
        raise _too_large(f"The system prompt has {size_bytes} bytes, of at most {MAX_SYSTEM_BYTES}.")


def check_media(count: int) -> None:
    """Raise `Unsendable` for more pictures and files than one request may carry."""
    if count > MAX_MEDIA:
        raise _too_large(f"The request has {count} pictures and files, of at most {MAX_MEDIA}.")


def check_medium(size_bytes: int | None) -> None:
    """Raise `Unsendable` for a picture or a file beyond the limit of an answer's: it may be one of those."""
    if size_bytes is not None and size_bytes > MAX_MEDIA_BYTES:
        raise _too_large(f"A picture or file has {size_bytes} bytes, of at most {MAX_MEDIA_BYTES}.")


def check_body(size_bytes: int) -> None:
    """Raise `Unsendable` for a request beyond its limit."""
    if size_bytes > MAX_BODY_BYTES:
        raise _too_large(f"The request has {size_bytes} bytes, of at most {MAX_BODY_BYTES}.")


def _too_large(words: str) -> Unsendable:
    return Unsendable("request_too_large", words)
