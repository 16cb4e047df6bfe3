"""The door to the store in one SQLite file, of the extra `sqlite`."""

from psych_runtime.doors import door

with door("psych_runtime_sqlite", extra="sqlite"):
    from psych_runtime_sqlite import SQLiteStore

__all__ = ["SQLiteStore"]
