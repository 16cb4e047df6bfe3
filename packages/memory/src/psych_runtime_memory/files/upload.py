"""A blob on its way: a file of another name, until all of it is there. Everything here waits for the disk."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from hashlib import sha256
from secrets import token_hex

from psych_runtime_core.ports.blob import BlobKey, BlobMetadata
from psych_runtime_memory.files.folders import Folders
from psych_runtime_memory.files.label import Label
from psych_runtime_memory.files.paths import path_of

UPLOADS = ("~uploads",)
"""A folder that is no tenant's. It stays, so no upload has to make it for good."""
STALE_SECONDS = 86_400
"""An upload that grew no more for so long was left by a process that died."""


class Upload:
    """It becomes the blob of `key` by `publish`, or goes by `discard`."""

    def __init__(self, folders: Folders, key: BlobKey, known: BlobMetadata) -> None:
        self._folders, self._key, self._known = folders, key, known
        self._name = token_hex(16)
        self._digest, self._size = sha256(), 0
        _remove_stale(folders)
        self._file = folders.create(UPLOADS, self._name)
        # The label is as wide for any content, so the content can go behind it before it is known.
        self._file.seek(len(Label(key, known).line()))

    def write(self, piece: bytes) -> None:
        self._file.write(piece)
        self._digest.update(piece)
        self._size += len(piece)

    def publish(self) -> BlobMetadata:
        """Make it the blob, for good."""
        found = {"size": self._size, "sha256": self._digest.hexdigest()}
        known = self._known.model_copy(update=found)
        self._file.seek(0)
        self._file.write(Label(self._key, known).line())
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        self._rename()
        return known

    def discard(self) -> None:
        """Leave nothing of it; nothing is left of one that was published."""
        # What cannot be written any more is not wanted.
        with suppress(OSError):
            self._file.close()
        self._folders.remove(UPLOADS, self._name)

    def _rename(self) -> None:
        *folder, name = path_of(self._key)
        with self._folders.opened(UPLOADS) as uploads:

            def rename(to: int) -> None:
                os.replace(self._name, name, src_dir_fd=uploads, dst_dir_fd=to)
                os.fsync(to)

            self._folders.within(folder, rename)


def _remove_stale(folders: Folders) -> None:
    for name in folders.names(UPLOADS):
        with suppress(OSError), folders.opened(UPLOADS) as uploads:
            if time.time() - os.stat(name, dir_fd=uploads, follow_symlinks=False).st_mtime > STALE_SECONDS:
                os.unlink(name, dir_fd=uploads)
