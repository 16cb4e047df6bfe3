"""What a store could not do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from psych_runtime_core.errors.base import PsychError


class StoreError(PsychError):
    """A store could not do what was asked of it."""


class SeqConflict(StoreError):
    """The log has another head than the writer thought: read what is new and decide again."""

    def __init__(self, run_id: str, head: object) -> None:
        self.run_id, self.head = run_id, head
        super().__init__(f"the log of {run_id} has moved on to {head}; read its tail and try again")


class LeaseLost(StoreError):
    """The lease is no longer the live one: this Worker may write nothing more of this Run."""

    def __init__(self, run_id: str, worker_id: str) -> None:
        self.run_id, self.worker_id = run_id, worker_id
        super().__init__(f"{worker_id} no longer holds the lease of {run_id}")


class RunNotFound(StoreError, KeyError):
    """No Run of this id is stored."""

    def __init__(self, run_id: str) -> None:
        self.run_id = run_id
        super().__init__(f"no Run {run_id} is stored here")

    __str__ = Exception.__str__


class VersionNotFound(StoreError, KeyError):
    """No Version of this hash is stored: publish its Spec first."""

    def __init__(self, version_hash: str) -> None:
        self.version_hash = version_hash
        super().__init__(f"no Version {version_hash} is stored here; publish its Spec first")

    __str__ = Exception.__str__


class StoreUnavailable(StoreError):
    """The store cannot be reached or is busy. `outcome` is "none" when nothing was written."""

    def __init__(self, operation: str, detail: str, outcome: Literal["none", "unknown"] = "unknown") -> None:
        self.operation, self.detail, self.outcome = operation, detail, outcome
        written = "nothing was written" if outcome == "none" else "it may have been written; repeat it"
        super().__init__(f"{operation}: the store is unavailable ({detail}); {written}")


class StoreFull(StoreUnavailable):
    """The store has no room: free space, then try again."""


class NotMigrated(StoreError):
    """The store's schema is absent, older or newer than this release needs."""

    def __init__(self, found: int, needed: int) -> None:
        self.found, self.needed = found, needed
        migrate = "run `psych migrate`, or call await store.migrate()"
        cure = "upgrade psych-runtime" if found > needed else migrate
        super().__init__(f"the store is at schema level {found}, this release needs {needed}; {cure}")


class StoreMisconfigured(StoreError):
    """The store cannot keep its promises as it is set up; the text names what to change."""


class EntryTooLarge(StoreError, ValueError):
    """A body or a commit is over its limit, in bytes. Trying again does not help."""

    def __init__(self, what: str, size: int, limit: int) -> None:
        self.what, self.size, self.limit = what, size, limit
        super().__init__(f"{what} has {size} bytes, the limit is {limit}; store less")


class BlobNotFound(StoreError, KeyError):
    """No blob of this key is stored."""

    def __init__(self, key: object) -> None:
        self.key = key
        super().__init__(f"no blob {key} is stored here")

    __str__ = Exception.__str__


class BlobCorrupt(StoreError):
    """A blob is not what was stored: its content was damaged, or replaced while it was read."""

    def __init__(self, key: object, detail: str) -> None:
        self.key, self.detail = key, detail
        super().__init__(f"the blob {key} is not what was stored ({detail}); read it anew, or restore it")


class UnknownStoreUrl(PsychError, ValueError):
    """No store is known for the scheme of a URL; `meant` is the URL that may have been meant."""

    def __init__(self, scheme: str, known: Sequence[str], meant: str | None = None) -> None:
        self.scheme, self.known, self.meant = scheme, tuple(known), meant
        hint = "" if meant is None else f"; did you mean {meant!r}?"
        super().__init__(f"no store is known for {scheme!r}; known schemes: {', '.join(self.known)}{hint}")
