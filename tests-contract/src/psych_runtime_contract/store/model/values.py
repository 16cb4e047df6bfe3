"""Small values, restated: what is stored until when, and which revisions were ever used."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from psych_runtime_core.ports.kv import KvItem, KvKey


@dataclass
class ValuesModel:
    """Values by key, at a time that is told."""

    now: datetime

    def __post_init__(self) -> None:
        self.items: dict[KvKey, KvItem] = {}
        self.used: dict[KvKey, set[int]] = {}

    def get(self, key: KvKey) -> KvItem | None:
        item = self.items.get(key)
        return item if item and (item.expires_at is None or self.now < item.expires_at) else None

    def holds(self, key: KvKey, expect: int | None) -> bool:
        item = self.get(key)
        return expect is None or expect == (item.revision if item else 0)

    def end(self, ttl_seconds: float | None) -> datetime | None:
        return None if ttl_seconds is None else self.now + timedelta(seconds=ttl_seconds)

    def check_put(self, item: KvItem, value: bytes) -> None:
        """A put that held has stored this item."""
        used = self.used.setdefault(item.key, set())
        assert item.value == value, "a put answers what is stored"
        assert item.revision > 0, "a revision is positive"
        assert item.revision not in used, "a revision is never used twice for one key"
        used.add(item.revision)
        self.items[item.key] = item

    def delete(self, key: KvKey, expect: int | None) -> bool:
        found = self.get(key) is not None and self.holds(key, expect)
        if found:
            del self.items[key]
        return found

    def named(self, tenant: str, space: str, prefix: str) -> list[KvItem]:
        """By the bytes of their names."""
        found = [
            item
            for key in self.items
            if (key.tenant, key.space) == (tenant, space) and key.name.startswith(prefix)
            if (item := self.get(key))
        ]
        return sorted(found, key=lambda item: item.key.name.encode())

    def clear(self, tenant: str, space: str, prefix: str) -> int:
        gone = self.named(tenant, space, prefix)
        for item in gone:
            del self.items[item.key]
        return len(gone)
