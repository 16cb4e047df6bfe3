"""Small values by key: tokens, memories, locks."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from psych_runtime_core.ids import checked_identifier
from psych_runtime_core.ports.queries import Page

MAX_VALUE_BYTES = 256 * 1024
MAX_SPACE = 64
MAX_TTL_SECONDS = 100 * 366 * 86_400.0
"""A century: what lasts longer has no end. An instant so far away still is one."""
EXPIRED_AT_ONCE = 2
"""How many values that have expired a `put` takes away."""


@dataclass(frozen=True, slots=True)
class KvKey:
    """Whose value it is, of which kind, and its name: 1..256, 1..64 and 1..256 characters.

    Raises `ValueError` for an empty or longer one, and for control characters and outer blanks.
    """

    tenant: str
    space: str
    name: str

    def __post_init__(self) -> None:
        check_space(self.tenant, self.space)
        checked_identifier(self.name)


@dataclass(frozen=True, slots=True)
class KvItem:
    """A value as it is stored. A `revision` is positive and never used twice for one key."""

    key: KvKey
    value: bytes
    revision: int
    expires_at: datetime | None = None


class KeyValue(Protocol):
    """Values of at most 256 KiB, sealed by who writes them. Expired is absent, by the store's clock.

    A lock is `put(expect=0, ttl_seconds=...)`, its release `delete(expect=revision)`.
    """

    async def get(self, key: KvKey) -> KvItem | None:
        """What is stored; None when nothing is."""
        ...

    async def put(
        self, key: KvKey, value: bytes, *, expect: int | None = None, ttl_seconds: float | None = None
    ) -> KvItem | None:
        """Store a value, for `ttl_seconds` or for good; None when `expect` does not hold.

        `expect=0`: nothing must be stored; `n`: the revision must be `n`. Raises `ValueError` for a value
        over its size and for a `ttl_seconds` of 0 or less.
        """
        ...

    async def delete(self, key: KvKey, *, expect: int | None = None) -> bool:
        """Remove a value; whether one was removed. With `expect`, only that revision."""
        ...

    async def list(
        self, tenant: str, space: str, *, prefix: str = "", cursor: str | None = None, limit: int = 100
    ) -> Page[KvItem]:
        """Values whose names begin with `prefix`, by their bytes, at most `limit` (1 to 1 000)."""
        ...

    async def clear(self, tenant: str, space: str, *, prefix: str = "") -> int:
        """Remove values whose names begin with `prefix`; how many."""
        ...


def check_space(tenant: str, space: str) -> None:
    """Raise `ValueError` for a tenant or a space that no key has."""
    checked_identifier(tenant)
    checked_identifier(space)
    if len(space) > MAX_SPACE:
        raise ValueError(f"a space has 1 to {MAX_SPACE} characters, this one {len(space)}")


def check_put(value: bytes, expect: int | None, ttl_seconds: float | None) -> None:
    """Raise `ValueError` for a value over its size, an `expect` below 0, a time to live of 0 or less."""
    if len(value) > MAX_VALUE_BYTES:
        raise ValueError(f"a value has at most {MAX_VALUE_BYTES} bytes, this one {len(value)}; store a blob")
    if ttl_seconds is not None and not 0 < ttl_seconds <= MAX_TTL_SECONDS:
        raise ValueError(f"ttl_seconds is over 0 and at most a century, or None for good; not {ttl_seconds}")
    check_expect(expect)


def check_expect(expect: int | None) -> None:
    """Raise `ValueError` for an `expect` below 0."""
    if expect is not None and expect < 0:
        raise ValueError(f"expect is 0 for absent or a revision, not {expect}")


def check_list(tenant: str, space: str, limit: int) -> None:
    """Raise `ValueError` for a page that no space has."""
    check_space(tenant, space)
    if not 1 <= limit <= 1_000:
        raise ValueError(f"a page has 1 to 1000 values, not {limit}")
