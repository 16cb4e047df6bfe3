"""How the content of a record is sealed."""

from __future__ import annotations

from typing import Protocol

from psych_runtime_core.scope import Scope


class Codec(Protocol):
    """Seals and opens content. One stands with each store handle; `bound` is what a seal is tied to."""

    @property
    def name(self) -> str:
        """Tells it from other codecs, to people."""
        ...

    async def prepare(self, scope: Scope) -> None:
        """Load what `seal` and `open` need for `scope`. Raises `StoreUnavailable` while keys are away."""
        ...

    def seal(self, content: bytes, *, scope: Scope, bound: bytes) -> bytes: ...

    def open(self, sealed: bytes, *, scope: Scope, bound: bytes) -> bytes | None:
        """The content; None when its key is destroyed. Content that was never sealed begins with `{`.

        What is sealed must itself name its key: the Scope of an erased Run has no principal any more.
        """
        ...


class PlainCodec:
    """Seals nothing."""

    name = "plain"

    async def prepare(self, scope: Scope) -> None:
        del scope

    def seal(self, content: bytes, *, scope: Scope, bound: bytes) -> bytes:
        del scope, bound
        return content

    def open(self, sealed: bytes, *, scope: Scope, bound: bytes) -> bytes | None:
        del scope, bound
        return sealed


class ClosedCodec(PlainCodec):
    """Opens nothing: what is sealed reads as if it were erased, and the facts beside it as they are."""

    name = "closed"

    def open(self, sealed: bytes, *, scope: Scope, bound: bytes) -> bytes | None:
        del scope, bound
        return sealed if sealed.startswith(b"{") else None
