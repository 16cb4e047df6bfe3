"""What somebody else finds in the file of a store."""

import sqlite3
from contextlib import closing
from pathlib import Path


def asked(path: Path, sql: str) -> int:
    """The one number that a statement gives on a connection of its own."""
    with closing(sqlite3.connect(path)) as connection:
        answer: int = connection.execute(sql).fetchone()[0]
        return answer
