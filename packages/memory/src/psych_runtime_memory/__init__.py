"""The store that lives in one process and is gone with it."""

from psych_runtime_memory.store import InMemoryStore

__all__ = ["InMemoryStore"]
