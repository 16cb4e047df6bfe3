"""The store that lives in one process and is gone with it."""

from psych_runtime_memory.blobs import InMemoryBlobStore
from psych_runtime_memory.files import FilesystemBlobStore
from psych_runtime_memory.store import InMemoryStore

__all__ = ["FilesystemBlobStore", "InMemoryBlobStore", "InMemoryStore"]
