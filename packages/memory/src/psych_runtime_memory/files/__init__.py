"""Blobs as files below a folder."""

from psych_runtime_memory.files.store import FilesystemBlobStore

__all__ = ["FilesystemBlobStore"]
