"""Ids and digests. Derived ids are the same again after a crash; none is random."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Annotated, NewType

from pydantic import AfterValidator

from psych_runtime_core.jsonvalue import encode_json

RunId = NewType("RunId", str)
ToolCallId = NewType("ToolCallId", str)
WaitId = NewType("WaitId", str)
WorkerId = NewType("WorkerId", str)
VersionHash = NewType("VersionHash", str)

_UNPRINTED = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


def checked_identifier(text: str) -> str:
    """`text`, if it is 1..256 characters, without control characters, surrogates or outer blanks."""
    if not 1 <= len(text) <= 256:
        raise ValueError(f"an id or key has 1 to 256 characters, this one {len(text)}")
    if text != text.strip():
        raise ValueError("an id or key has no leading or trailing blanks")
    if _UNPRINTED.search(text):
        raise ValueError("an id or key holds no control characters and no surrogates")
    return text


Identifier = Annotated[str, AfterValidator(checked_identifier)]


def derive_call_id(run_id: RunId, lane: str, turn: int, ordinal: int) -> ToolCallId:
    """The id of the `ordinal`-th call (from 0) that turn `turn` of `lane` announced."""
    return ToolCallId(_derive("call_", 24, run_id, lane, turn, ordinal))


def derive_wait_id(run_id: RunId, owner: str, n: int) -> WaitId:
    """The id of the Wait that `owner` opens after it has had `n` others."""
    return WaitId(_derive("wait_", 24, run_id, owner, n))


def derive_entry_id(run_id: RunId, key: str) -> str:
    """The id of the queue entry that `send` makes for `key`."""
    return _derive("qe_", 36, run_id, key)


HANDLE = re.compile(r"\b(?:res|out)_[0-9a-f]{24}\b")
"""A handle, wherever it stands in a text."""


def derive_handle(run_id: RunId, call_id: ToolCallId, slot: int | None = None) -> str:
    """The handle of a call's result, or of its `slot`-th attachment (from 0); it names nothing elsewhere."""
    if slot is None:
        return _derive("res_", 24, run_id, call_id)
    return _derive("out_", 24, run_id, call_id, slot)


def blob_name(owner: str, epoch: int, slot: int | None = None) -> str:
    """What a blob is called within its Run. No Attempt writes over what another has recorded."""
    return f"{owner}.{epoch}" if slot is None else f"{owner}.{epoch}.{slot}"


def derive_idempotency_key(run_id: RunId, identity: str) -> str:
    """The key a tool passes on: equal over Attempts and crashes, different for any two calls."""
    return _derive("idem_", 40, run_id, identity)


def content_digest(salt: bytes, value: object) -> str:
    """64 hex of SHA-256 over the Run's salt and the canonical JSON of `value`."""
    return encoded_digest(salt, encode_json(value))


def encoded_digest(salt: bytes, encoded: bytes) -> str:
    """`content_digest` of a value whose canonical JSON is at hand."""
    return hashlib.sha256(salt + encoded).hexdigest()


def call_digest(salt: bytes, tool: str, arguments: Mapping[str, object] | str) -> str:
    """The digest of a call: its tool and its arguments, or their raw text when they are no JSON object."""
    return content_digest(salt, {"arguments": arguments, "tool": tool})


def _derive(prefix: str, length: int, *parts: str | int) -> str:
    tagged = "\x1f".join(f"i{part}" if isinstance(part, int) else f"s{part}" for part in parts)
    return prefix + hashlib.sha256(tagged.encode("utf-8", "surrogatepass")).hexdigest()[:length]
