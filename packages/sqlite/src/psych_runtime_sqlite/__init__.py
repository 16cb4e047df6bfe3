"""The store in one SQLite file."""

from psych_runtime_sqlite.store import SQLiteStore

__all__ = ["SQLiteStore"]
