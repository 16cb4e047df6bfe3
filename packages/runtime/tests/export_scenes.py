"""Runs as their tests export and import them."""

from __future__ import annotations

from collections.abc import AsyncIterable, Awaitable, Callable, Mapping
from typing import Any, TypeVar

from hypothesis import strategies as st

from packages.runtime.tests.api_scenes import ACME, RUN, VERSION
from psych_runtime import BlobKey, InMemoryStore, RunHeader, RunQuery, Scope, Store, export_run
from psych_runtime.testing import FakeClock, LogBuilder, StoreProxy
from psych_runtime_memory.blobs import InMemoryBlobStore

T = TypeVar("T")
WORDS = st.text(max_size=30)
ARGUMENTS: st.SearchStrategy[Mapping[str, Any]] = st.dictionaries(
    WORDS, st.one_of(WORDS, st.integers(), st.booleans(), st.none(), st.lists(WORDS, max_size=2)), max_size=3
)


@st.composite
def logs(draw: st.DrawFn, scope: Scope = ACME) -> LogBuilder:
    """A legal log of an agent: any number of turns with calls and messages, cut anywhere or settled."""
    log = LogBuilder(scope=scope, version_hash=VERSION.hash).admitted(draw(ARGUMENTS))
    if draw(st.booleans()):
        return log.enqueued(draw(WORDS))
    log.attempt()
    for turn in range(draw(st.integers(0, 4))):
        log.call(f"tool_{turn}", draw(ARGUMENTS), draw(ARGUMENTS))
        if draw(st.booleans()):
            log.enqueued(draw(WORDS))
    ending = draw(st.sampled_from(["open", "asks", "aborted", "answered", "crashed"]))
    if ending == "asks":
        log.turn().model_started().model_finished(calls=[("refund", draw(ARGUMENTS))]).suspended()
    elif ending == "aborted":
        log.abort(draw(WORDS)).settled()
    elif ending == "answered":
        log.turn().model_started().model_finished(draw(WORDS.filter(bool))).settled()
    elif ending == "crashed":
        log.attempt()
    return log


async def kept(store: Store, log: LogBuilder, **fields: Any) -> RunHeader:
    """The Run of a log, in a store that knows its Version."""
    await store.put_version(VERSION)
    entries = log.entries(store.codec)
    await store.admit(log.header(head=entries[-1].head, name="clerk", **fields), entries)
    return await store.get_run(log.run_id)


async def all_of(lines: AsyncIterable[bytes]) -> list[bytes]:
    return [line async for line in lines]


def whole(run_id: str = "run_test", scope: Scope = ACME) -> LogBuilder:
    """A settled Run with a call, an approval, a steer, a crash and an answer."""
    log = LogBuilder(run_id, scope=scope, version_hash=VERSION.hash).admitted({"message": "hello"}).attempt()
    log.call("act", {"name": "it"}, "done")
    log.enqueued("more").turn().consumed().model_started().model_finished(calls=[("wipe", {"name": "a"})])
    log.suspended(0).resumed(0).tool_started(0).attempt().tool_finished(0, outcome="unknown")
    return log.turn().model_started().model_finished("Well.").settled()


async def with_blobs(header: RunHeader, *sizes: int) -> InMemoryBlobStore:
    """Blobs of a Run, of these sizes."""
    blobs = InMemoryBlobStore(clock=FakeClock())
    for place, size in enumerate(sizes):
        key = BlobKey(header.scope.tenant, header.run_id, f"call_{place}.1")
        content = bytes(at % 251 for at in range(size))
        await blobs.put(key, content, content_type="text/plain", metadata={"place": str(place)})
    return blobs


async def with_key_and_blobs(key: str | None = "order-1") -> list[bytes]:
    """The file of a Run with a key and two blobs."""
    log, first = whole().edit(1, idempotency_key=key), InMemoryStore()
    blobs = await with_blobs(await kept(first, log, idempotency_key=key), 5, 0)
    return await all_of(export_run(first, RUN, blobs=blobs))


async def what_is_left(store: Store, blobs: InMemoryBlobStore) -> tuple[int, int]:
    """How many Runs and blobs."""
    return len((await store.find_runs(RunQuery())).items), len((await blobs.list(None)).items)


async def contents(blobs: InMemoryBlobStore) -> dict[BlobKey, bytes]:
    return {key: await blobs.get(key) for key, _ in (await blobs.list(None)).items}


class Beside(StoreProxy):
    """A store on which somebody else does something, behind each call of one method while `left`."""

    def __init__(self, method: str, left: int, doing: Callable[[Store], Awaitable[object]]) -> None:
        super().__init__(InMemoryStore())
        self.method, self.left, self.doing = method, left, doing

    async def _through(self, name: str, call: Callable[[], Awaitable[T]]) -> T:
        answer = await super()._through(name, call)
        if name == self.method and self.left:
            self.left -= 1
            await self.doing(self._store)
        return answer
