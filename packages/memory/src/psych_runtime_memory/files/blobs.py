"""Files of blobs, read and removed. Everything here waits for the disk."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from hashlib import sha256
from itertools import islice
from typing import BinaryIO

from psych_runtime_core.errors import BlobCorrupt, BlobNotFound
from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.blob import MAX_BLOB_BYTES, BlobKey, BlobMetadata, clamp
from psych_runtime_core.ports.queries import Page
from psych_runtime_memory.files.folders import Folders, Path, is_absent
from psych_runtime_memory.files.label import UNKNOWN, Label, read_label
from psych_runtime_memory.files.paths import folder_of, key_of, path_of

DEPTH = 3
"""A folder a tenant, in it one a Run, in it a file a blob."""


class BlobFiles:
    """The blobs below a root."""

    def __init__(self, folders: Folders) -> None:
        self._folders = folders

    def read(self, key: BlobKey, offset: int, length: int | None) -> tuple[BlobMetadata, bytes]:
        """What is known of a blob, and a range of it; of a whole one the digest is checked."""
        with self._opened(path_of(key), key) as (file, label):
            start, end = clamp(label.known.size, offset, length)
            file.seek(label.start + start)
            body = file.read(end - start)
        if len(body) == label.known.size:
            check_digest(key, label.known, sha256(body).hexdigest())
        return label.known, body

    def head(self, key: BlobKey) -> BlobMetadata | None:
        try:
            with self._opened(path_of(key), key) as (_, label):
                return label.known
        except BlobNotFound:
            return None

    def delete(self, key: BlobKey) -> None:
        *folder, name = path_of(key)
        self._folders.remove(folder, name)
        self._folders.remove_empty(folder)

    def delete_run(self, tenant: str, run_id: RunId) -> int:
        folder = folder_of(tenant, run_id)
        removed = sum(self._folders.remove(folder, name) for name in self._folders.names(folder))
        self._folders.remove_empty(folder)
        return removed

    def page(
        self, tenant: str | None, run_id: RunId | None, cursor: str | None, limit: int
    ) -> Page[tuple[BlobKey, BlobMetadata]]:
        """Blobs in the order of their paths; a cursor is the path before."""
        behind = tuple(cursor.split("/")) if cursor else ()
        found = list(islice(self._labels(folder_of(tenant, run_id), behind), limit + 1))
        items = tuple((label.key, label.known) for label in found[:limit])
        return Page(items, "/".join(path_of(items[-1][0])) if len(found) > limit else None)

    def _labels(self, folder: Path, behind: Path) -> Iterator[Label]:
        for path in self._walk(folder, behind):
            if label := self._label(path):
                yield label

    def _label(self, path: Path) -> Label | None:
        """The label of a file; None when it went since its folder was read.

        A damaged one hides no other, and is found by its name: what is asked of its content tells.
        """
        try:
            with self._opened(path, "/".join(path)) as (_, label):
                return label
        except BlobNotFound:
            return None
        except BlobCorrupt:
            return self._damaged(path)

    def _damaged(self, path: Path) -> Label | None:
        """What can be told of a damaged file; None when it went, or its name was cut, which tells no key."""
        key = key_of(path)
        try:
            with self._folders.read(path[:-1], path[-1]) as file:
                stat = os.fstat(file.fileno())
        except OSError as error:
            if is_absent(error):
                return None
            raise
        known = BlobMetadata(
            size=min(stat.st_size, MAX_BLOB_BYTES),
            content_type="application/octet-stream",
            sha256=UNKNOWN,
            created_at=datetime.fromtimestamp(stat.st_mtime, UTC),
        )
        return None if key is None else Label(key, known)

    def _walk(self, folder: Path, behind: Path) -> Iterator[Path]:
        """The paths of all blobs in a folder, in order, behind another path."""
        for name in self._folders.names(folder):
            path = (*folder, name)
            if name[0] in ".~" or path < behind[: len(path)]:
                continue
            if len(path) < DEPTH:
                yield from self._walk(path, behind)
            elif path > behind:
                yield path

    @contextmanager
    def _opened(self, path: Path, where: object) -> Generator[tuple[BinaryIO, Label]]:
        """A file at its content, and its label, which are whole and in their place."""
        try:
            file = self._folders.read(path[:-1], path[-1])
        except OSError as error:
            if is_absent(error):
                raise BlobNotFound(where) from error
            raise
        with file:
            label = read_label(file, where)
            if path_of(label.key) != path:
                raise BlobCorrupt(where, f"the file of {label.key} stands in its place")
            size = os.fstat(file.fileno()).st_size - label.start
            if size != label.known.size:
                raise BlobCorrupt(where, f"it has {size} bytes of {label.known.size}")
            yield file, label


def check_digest(key: BlobKey, known: BlobMetadata, digest: str) -> None:
    """Raise `BlobCorrupt` for content that is not what was stored."""
    if digest != known.sha256:
        raise BlobCorrupt(key, "its content has another digest")
