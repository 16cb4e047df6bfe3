"""A process that stores one blob over and over, until it is killed."""

import asyncio
import sys

from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.blob import BlobKey
from psych_runtime_memory import FilesystemBlobStore

KEY = BlobKey("acme", RunId("run_a"), "call.1")
SIZE = 2_000_000


async def overwrite(root: str) -> None:
    """Tell of each blob before it is stored, so that the one who kills can count."""
    store = FilesystemBlobStore(root)
    for number in range(100_000):
        print(number, flush=True)
        fill = b"%d" % (number % 10)
        await store.put(KEY, fill * SIZE, content_type="text/plain", metadata={"fill": fill.decode()})


if __name__ == "__main__":
    asyncio.run(overwrite(sys.argv[1]))
