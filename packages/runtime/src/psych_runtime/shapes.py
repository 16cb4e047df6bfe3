"""Whether a consumer's object has the shape of a port, before any Run meets it."""

from __future__ import annotations

from inspect import getattr_static
from typing import NamedTuple

_ABSENT = object()


class Shape(NamedTuple):
    """What each object of a port has, and what to give where one has it not."""

    needs: tuple[str, ...]
    give: str


BLOBS = Shape(
    ("put", "get", "open", "head", "delete", "list", "delete_run"), "give a BlobStore, such as store.blobs"
)


def shape_fault(value: object, shape: Shape) -> str | None:
    """What `value` is in place of an object of `shape`, and what to give; None for one that is."""
    if isinstance(value, type):
        return f"the class {value.__name__} itself; {shape.give}"
    absent = [name for name in shape.needs if not _has(value, name)]
    if absent:
        return f"a {type(value).__name__} without {', '.join(absent)}; {shape.give}"
    return None


def _has(value: object, name: str) -> bool:
    """A property may be dear to read, so it is looked for first; a proxy shows its names only when asked."""
    return getattr_static(value, name, _ABSENT) is not _ABSENT or hasattr(value, name)
