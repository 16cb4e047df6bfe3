"""What makes a reply unreadable, said before it is known whose reply it is."""

from __future__ import annotations

from psych_runtime_core.errors import ModelErrorKind


class Unreadable(Exception):
    """A reply breaks off its own sense. It never leaves the reading: there it becomes a `ModelError`."""

    def __init__(self, code: str, words: str, kind: ModelErrorKind = ModelErrorKind.TRANSIENT) -> None:
        self.code, self.words, self.kind = code, words, kind
        super().__init__(words)


def malformed(words: str) -> Unreadable:
    """What came is not what this wire sends; another try may read well."""
    return Unreadable("malformed_event", words)


def too_large(words: str) -> Unreadable:
    """An answer that nobody keeps."""
    return Unreadable("answer_too_large", words, ModelErrorKind.PERMANENT)
