"""All that a store asks of its database, written for a dialect."""

from __future__ import annotations

from sqlalchemy import Dialect

from psych_runtime_sql.admissions import Admissions
from psych_runtime_sql.blob_rows import BlobRows
from psych_runtime_sql.chunks import Chunks
from psych_runtime_sql.finder import Finder
from psych_runtime_sql.keys import Keys
from psych_runtime_sql.lookout import Lookout
from psych_runtime_sql.marks import MarkKind, Marks
from psych_runtime_sql.orphans import Orphans
from psych_runtime_sql.past import Past
from psych_runtime_sql.runs import Runs
from psych_runtime_sql.statements import Statements
from psych_runtime_sql.stats import Stats
from psych_runtime_sql.sweeps import EntrySweep, Sweep, Sweeper
from psych_runtime_sql.texts import Texts
from psych_runtime_sql.trees import Trees
from psych_runtime_sql.uploads import Uploads
from psych_runtime_sql.values import Values
from psych_runtime_sql.versions import Versions


class Operations:
    """Groups of operations, each of which runs inside one transaction. They keep nothing between two."""

    def __init__(self, dialect: Dialect) -> None:
        self.statements = Statements(dialect)
        self.marks, self.finder, self.stats = Marks(dialect), Finder(dialect), Stats(dialect)
        self.versions, self.texts = Versions(self.statements), Texts(dialect)
        self.keys, self.orphans = Keys(dialect), Orphans(dialect)
        self.lookout = Lookout(self.statements, self.texts)
        self.admissions = Admissions(self.statements, self.keys, self.marks, self.texts)
        self.runs = Runs(self.statements, self.admissions, self.lookout, self.texts)
        entries = EntrySweep(dialect)
        self.chunks = Chunks(dialect)
        sweeps: dict[MarkKind, Sweep] = {MarkKind.PURGE: entries, MarkKind.IMPORT: entries}
        self.sweeper = Sweeper(self.marks, sweeps | {MarkKind.UPLOAD: self.chunks})
        self.past = Past(self.admissions, self.marks, self.sweeper, dialect)
        self.trees = Trees(self.admissions, self.marks, self.finder, dialect)
        self.values = Values(dialect)
        self.blobs = BlobRows(self.marks, dialect)
        self.uploads = Uploads(self.blobs, self.chunks, self.marks, self.sweeper)
