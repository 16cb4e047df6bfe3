"""Each call of the port once, on Runs that are there for it, and how to tell that it was done."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

from psych_runtime_contract.plugin import leave_out
from psych_runtime_contract.store.endings import over, store_all
from psych_runtime_contract.store.scenes import WORKER, admission, appending
from psych_runtime_core.errors import BlobNotFound, LeaseLost, RunNotFound, VersionNotFound
from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.blob import BlobKey, BlobStore, blobs_of
from psych_runtime_core.ports.claims import Claim, ClaimFilter
from psych_runtime_core.ports.kv import KeyValue, KvKey
from psych_runtime_core.ports.queries import RunQuery
from psych_runtime_core.ports.runs import Lease, RunHeader
from psych_runtime_core.ports.store import Store
from psych_runtime_core.ports.writes import Admit
from psych_runtime_core.spec.agent import AgentSpec
from psych_runtime_core.spec.model import ModelRef
from psych_runtime_core.version import Version

T = TypeVar("T")

LONG, LONGER = 100.0, 1_000.0
"""Seconds of a lease, as it was asked for and as it is renewed."""
TEXT = "text/plain"


@dataclass(frozen=True, slots=True)
class Scene:
    """A tenant with four Runs: one is leased, one is ready, one waits to be woken, one is over."""

    tenant: str
    leased: Claim
    asleep: RunHeader

    @property
    def lease(self) -> Lease:
        return self.leased.lease

    @property
    def over(self) -> RunId:
        return self.id_of("over")

    @property
    def ready(self) -> RunId:
        return self.id_of("ready")

    @property
    def begun(self) -> Admit:
        """A Run that is not stored yet."""
        return admission(self.id_of("begun"), tenant=self.tenant, idempotency_key=None, ready_at=None)

    @property
    def version(self) -> Version:
        """One that is not stored yet."""
        return Version.of(AgentSpec(name=self.tenant, model=ModelRef(model="small")))

    @property
    def published(self) -> Version:
        """One that is stored."""
        return Version.of(AgentSpec(name=self.tenant, model=ModelRef(model="large")))

    @property
    def key(self) -> KvKey:
        """Of a value that is stored."""
        return KvKey(self.tenant, "tokens", "mail")

    @property
    def blob(self) -> BlobKey:
        """Of a blob that is stored."""
        return BlobKey(self.tenant, self.over, "call_a.1")

    @property
    def of_over(self) -> RunQuery:
        return RunQuery(tenant=self.tenant, run_ids=frozenset({self.over}))

    def id_of(self, name: str) -> RunId:
        return RunId(f"{self.tenant}_{name}")


async def set_scene(store: Store, tenant: str = "acme") -> Scene:
    """Store what the calls meet."""

    def named(name: str) -> str:
        return f"{tenant}_{name}"

    leased = admission(named("leased"), tenant=tenant, priority=1)
    asleep = admission(named("asleep"), tenant=tenant, ready_at=None)
    ended, ready = over(named("over"), tenant=tenant), admission(named("ready"), tenant=tenant)
    await store_all(store, leased, asleep, ended, ready)
    (taken,) = (await store.claim(WORKER, lease_seconds=LONG, only=_within(tenant))).claims
    scene = Scene(tenant, taken, await store.get_run(asleep.run_id))
    await store.put_version(scene.published)
    if store.kv is not None:
        await store.kv.put(scene.key, b"before")
    if blobs_of(store) is not None:
        await blobs(store).put(scene.blob, b"before", content_type=TEXT)
    return scene


# --- reading -----------------------------------------------------------------------------------------------

Call = Callable[[Store, Scene], Awaitable[object]]


async def watch(store: Store, scene: Scene) -> None:
    async with store.changes([scene.over]) as watching:
        await watching.wait(0)


READS: dict[str, Call] = {
    "get_version": lambda store, scene: store.get_version(scene.published.hash),
    "read": lambda store, scene: store.read(scene.over),
    "get_run": lambda store, scene: store.get_run(scene.over),
    "find_runs": lambda store, scene: store.find_runs(RunQuery(tenant=scene.tenant)),
    "purge dry_run": lambda store, scene: store.purge(scene.of_over, dry_run=True),
    "changes": watch,
    "stats": lambda store, scene: store.stats(),
    "check": lambda store, scene: store.check(),
    "migrate plan": lambda store, scene: store.migrate(plan=True),
    "kv.get": lambda store, scene: values(store).get(scene.key),
    "kv.list": lambda store, scene: values(store).list(scene.tenant, "tokens"),
    "blobs.get": lambda store, scene: blobs(store).get(scene.blob),
    "blobs.open": lambda store, scene: anext(aiter(blobs(store).open(scene.blob))),
    "blobs.head": lambda store, scene: blobs(store).head(scene.blob),
    "blobs.list": lambda store, scene: blobs(store).list(scene.tenant),
}


def values(store: Store) -> KeyValue:
    assert store.kv is not None
    return store.kv


def blobs(store: Store) -> BlobStore:
    """What it keeps beside its Runs; a store need not, and a rule of them is then left out."""
    return blobs_of(store) or leave_out("store.blobs")


def had_by(store: Store, calls: Mapping[str, T]) -> dict[str, T]:
    """Those of the calls that this store has."""
    ports = {"kv": store.kv, "blobs": blobs_of(store)}
    lacking = {name for name, port in ports.items() if port is None}
    return {name: call for name, call in calls.items() if name.partition(".")[0] not in lacking}


# --- writing: the call, and whether it was done, once and whole --------------------------------------------


async def put_version(store: Store, scene: Scene) -> None:
    await store.put_version(scene.version)


async def has_version(store: Store, scene: Scene) -> bool:
    try:
        return (await store.get_version(scene.version.hash)).spec == scene.version.spec
    except VersionNotFound:
        return False


async def commit(store: Store, scene: Scene) -> None:
    await store.commit([appending(scene.asleep, b"one", b"two"), scene.begun])


async def has_committed(store: Store, scene: Scene) -> bool:
    appended, begun = await log_of(store, scene.asleep.run_id), await log_of(store, scene.begun.run_id)
    assert (appended, begun) in [([b"admitted"], []), ([b"admitted", b"one", b"two"], [b"admitted"])]
    return bool(begun)


async def admit(store: Store, scene: Scene) -> None:
    await store.admit(scene.begun.header, scene.begun.entries)


async def has_begun(store: Store, scene: Scene) -> bool:
    log = await log_of(store, scene.begun.run_id)
    assert log in [[], [b"admitted"]]
    return bool(log)


async def append(store: Store, scene: Scene) -> None:
    write = appending(scene.leased.header, b"more", lease=scene.lease)
    await store.append(write.run_id, write.after, write.entries, write.change, write.lease)


async def has_appended(store: Store, scene: Scene) -> bool:
    log = await log_of(store, scene.lease.run_id)
    assert log in [[b"admitted"], [b"admitted", b"more"]]
    return len(log) == 2


async def claim(store: Store, scene: Scene) -> None:
    await store.claim(WORKER, lease_seconds=LONG, only=_within(scene.tenant), request_id=scene.tenant)


async def has_claimed(store: Store, scene: Scene) -> bool:
    header = await store.get_run(scene.ready)
    assert (header.epoch, header.crashes) in [(0, 0), (1, 0)]
    assert (header.lease is not None) == (header.epoch == 1)
    return header.lease is not None


async def renew(store: Store, scene: Scene) -> None:
    (renewed,) = await store.renew([scene.lease], lease_seconds=LONGER)
    assert renewed.outcome == "kept"


async def has_renewed(store: Store, scene: Scene) -> bool:
    lease = (await store.get_run(scene.lease.run_id)).lease
    assert lease is not None
    return lease.expires_at > scene.lease.expires_at


async def release(store: Store, scene: Scene) -> None:
    with suppress(LeaseLost):
        await store.release(scene.lease)


async def has_released(store: Store, scene: Scene) -> bool:
    return (await store.get_run(scene.lease.run_id)).lease is None


async def purge(store: Store, scene: Scene) -> None:
    await store.purge(scene.of_over)


async def has_purged(store: Store, scene: Scene) -> bool:
    log = await log_of(store, scene.over)
    assert log in [[], [b"admitted", b"ended"]]
    return not log


async def erase(store: Store, scene: Scene) -> None:
    await store.erase(scene.of_over)


async def has_erased(store: Store, scene: Scene) -> bool:
    header = await store.get_run(scene.over)
    assert header.erased == (header.request == bytes(32))
    return header.erased


async def put_value(store: Store, scene: Scene) -> None:
    await values(store).put(scene.key, b"after")


async def has_put_value(store: Store, scene: Scene) -> bool:
    item = await values(store).get(scene.key)
    assert item is not None
    return item.value == b"after"


async def delete_value(store: Store, scene: Scene) -> None:
    await values(store).delete(scene.key)


async def clear_values(store: Store, scene: Scene) -> None:
    await values(store).clear(scene.tenant, "tokens")


async def has_no_value(store: Store, scene: Scene) -> bool:
    return await values(store).get(scene.key) is None


async def put_blob(store: Store, scene: Scene) -> None:
    await blobs(store).put(scene.blob, b"after", content_type=TEXT)


async def has_put_blob(store: Store, scene: Scene) -> bool:
    content = await blobs(store).get(scene.blob)
    assert content in {b"before", b"after"}
    return content == b"after"


async def delete_blob(store: Store, scene: Scene) -> None:
    await blobs(store).delete(scene.blob)


async def delete_blobs(store: Store, scene: Scene) -> None:
    await blobs(store).delete_run(scene.tenant, scene.over)


async def has_no_blob(store: Store, scene: Scene) -> bool:
    try:
        return await blobs(store).get(scene.blob) != b"before"
    except BlobNotFound:
        return await blobs(store).head(scene.blob) is None


WRITES: dict[str, tuple[Call, Callable[[Store, Scene], Awaitable[bool]]]] = {
    "put_version": (put_version, has_version),
    "commit": (commit, has_committed),
    "admit": (admit, has_begun),
    "append": (append, has_appended),
    "claim": (claim, has_claimed),
    "renew": (renew, has_renewed),
    "release": (release, has_released),
    "purge": (purge, has_purged),
    "erase": (erase, has_erased),
    "kv.put": (put_value, has_put_value),
    "kv.delete": (delete_value, has_no_value),
    "kv.clear": (clear_values, has_no_value),
    "blobs.put": (put_blob, has_put_blob),
    "blobs.delete": (delete_blob, has_no_blob),
    "blobs.delete_run": (delete_blobs, has_no_blob),
}
CALLS: dict[str, Call] = {**READS, **{name: call for name, (call, _) in WRITES.items()}}


async def log_of(store: Store, run_id: RunId) -> list[bytes]:
    """The bodies of a log, whose header says as much; none where there is no such Run."""
    try:
        header, log = await store.get_run(run_id), await store.read(run_id)
    except RunNotFound:
        return []
    assert header.head == log[-1].head
    return [entry.body for entry in log]


def _within(tenant: str) -> ClaimFilter:
    return ClaimFilter(tenants=frozenset({tenant}))
