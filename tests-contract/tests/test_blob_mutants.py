"""A wrong blob store fails the test that states its rule, and passes those beside it."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterable, Callable, Mapping

import pytest

from psych_runtime_contract.blob import BlobContract
from psych_runtime_core.ports.blob import BlobKey, BlobMetadata
from psych_runtime_memory import InMemoryBlobStore

REFUSED = "test_what_no_blob_has_is_refused_and_the_old_one_stays"
TOLD = "test_what_was_told_is_told_again"


class Rewritten(InMemoryBlobStore):
    """Told texts are changed before they are looked at."""

    def rewritten(self, text: str) -> str:
        return text

    async def put(
        self,
        key: BlobKey,
        content: bytes | AsyncIterable[bytes],
        *,
        content_type: str,
        metadata: Mapping[str, str] | None = None,
    ) -> BlobMetadata:
        told = {self.rewritten(name): self.rewritten(text) for name, text in (metadata or {}).items()}
        return await super().put(key, content, content_type=content_type, metadata=told)


class SurrogatesReplaced(Rewritten):
    def rewritten(self, text: str) -> str:
        return text.encode(errors="replace").decode()


class LongTextsCut(Rewritten):
    def rewritten(self, text: str) -> str:
        return text[:256]


class CaseFolded(Rewritten):
    def rewritten(self, text: str) -> str:
        return text.casefold()


MUTANTS = (
    pytest.param(SurrogatesReplaced, REFUSED, "surrogate", TOLD, id="lone surrogates replaced"),
    pytest.param(LongTextsCut, REFUSED, "long", TOLD, id="long texts cut"),
    pytest.param(CaseFolded, TOLD, "odd texts", REFUSED, id="names folded in case"),
)


async def failed(kind: Callable[[], InMemoryBlobStore], test: str) -> list[str]:
    """The cases of a test that fail a store of this kind."""
    method = getattr(BlobContract, test)
    (mark,) = [mark for mark in method.pytestmark if mark.name == "parametrize"]
    names, failing = [name for name in inspect.signature(method).parameters if name != "self"], list[str]()
    for case in mark.args[1]:
        try:
            await method(BlobContract(), **dict(zip(names, (kind(), *case.values), strict=True)))
        except (AssertionError, pytest.fail.Exception):
            failing.append(case.id)
    return failing


@pytest.mark.parametrize(("kind", "test", "words", "kept"), MUTANTS)
async def test_a_mutant_fails_the_test_that_states_its_rule_and_no_other(
    kind: type[InMemoryBlobStore], test: str, words: str, kept: str
) -> None:
    failing = await failed(kind, test)
    assert failing
    assert all(words in case for case in failing), failing
    assert await failed(kind, kept) == []
    assert await failed(InMemoryBlobStore, test) == []
