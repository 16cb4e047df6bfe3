"""Names of files for the parts of a blob's key, such that no two parts ever have one name."""

from __future__ import annotations

from hashlib import sha256
from urllib.parse import unquote_to_bytes

from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.blob import BlobKey

LONGEST = 128
"""Characters of a name. Every file system takes as many, with room for what encrypts names."""
KEPT = frozenset(b"abcdefghijklmnopqrstuvwxyz0123456789_.-")


def path_of(key: BlobKey) -> tuple[str, str, str]:
    """The folder of a tenant, in it that of a Run, in it the file."""
    return name_of(key.tenant), name_of(key.run_id), name_of(key.call_id)


def key_of(path: tuple[str, ...]) -> BlobKey | None:
    """The key of a path; None where a name was cut, and where it is of none."""
    try:
        tenant, run_id, call_id = (unquote_to_bytes(name).decode() for name in path)
        key = BlobKey(tenant, RunId(run_id), call_id)
    except ValueError:
        return None
    return key if path_of(key) == path else None


def folder_of(tenant: str | None, run_id: RunId | None) -> tuple[str, ...]:
    """The folder that holds a Run's blobs, a tenant's, or all."""
    return tuple(name_of(part) for part in (tenant, run_id) if part is not None)


def name_of(part: str) -> str:
    """A name that stays different from all others where case, or a dot at its end, says nothing.

    It begins with none of `.` and `~`, which are left for others.
    """
    raw = part.encode()
    edges = (0, len(raw) - 1)
    name = "".join(
        chr(byte) if byte in KEPT and not (byte == ord(".") and at in edges) else f"%{byte:02x}"
        for at, byte in enumerate(raw)
    )
    # A short name has no `~` in it, so none looks like one that was cut.
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 65]}~{sha256(raw).hexdigest()}"
