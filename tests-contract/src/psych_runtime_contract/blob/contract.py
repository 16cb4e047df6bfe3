"""The suites of a blob store, as one."""

from psych_runtime_contract.blob.content import BlobContent
from psych_runtime_contract.blob.lists import BlobLists
from psych_runtime_contract.blob.ranges import BlobRanges
from psych_runtime_contract.blob.replacing import BlobReplacing
from psych_runtime_contract.blob.telling import BlobTelling


class BlobContract(BlobContent, BlobRanges, BlobReplacing, BlobTelling, BlobLists):
    """Judges a blob store: subclass it as `Test…`, say its `caps`, and give a fixture `blobs`."""
