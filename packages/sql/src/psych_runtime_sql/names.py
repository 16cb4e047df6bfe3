"""Names of small values, as a range in the order of their bytes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

_HIGHEST = "\U0010ffff" * 256
"""No name goes beyond it, nor beyond a prefix with it."""


@dataclass(frozen=True, slots=True)
class Names:
    """The names of a space from `first` to `last`, in the order of their bytes.

    `first` is one of them, unless it is `seen`.
    """

    tenant: str
    space: str
    first: str
    last: str
    seen: str = ""

    @classmethod
    def that_begin_with(cls, tenant: str, space: str, prefix: str) -> Self:
        """All names of this prefix."""
        return cls(tenant, space, prefix, prefix + _HIGHEST)

    def behind(self, name: str) -> Names:
        """Those behind a name."""
        return replace(self, first=max(self.first, name), seen=name)

    def params(self, **more: object) -> dict[str, object]:
        """What statements take."""
        return {
            "tenant": self.tenant,
            "space": self.space,
            "first": self.first,
            "last": self.last,
            "seen": self.seen,
            **more,
        }
