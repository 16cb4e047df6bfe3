"""A Run begins: its header and its first record, in one commit."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import cast

from psych_runtime.api.access import scope_of
from psych_runtime.api.arguments import Spoken, accepted, identifier, of_kind, seconds, spoken, whole
from psych_runtime.api.external import until_known
from psych_runtime.api.log import LogReader
from psych_runtime.api.publish import publish
from psych_runtime_core.errors import IdempotencyConflict, RunNotFound
from psych_runtime_core.ids import RunId, VersionHash
from psych_runtime_core.jsonvalue import Json, encode_json, json_equal
from psych_runtime_core.ports.runs import NOW, RunHeader
from psych_runtime_core.ports.store import Store
from psych_runtime_core.records import GENESIS, encode, stamp
from psych_runtime_core.records.run import RunAdmitted
from psych_runtime_core.scope import Scope
from psych_runtime_core.spec.agent import AgentSpec
from psych_runtime_core.spec.document import Spec
from psych_runtime_core.version import Version

MAX_INPUT_BYTES = 1024 * 1024
MAX_DEADLINE = 86_400
MAX_DELAY = 31_536_000


@dataclass(frozen=True, slots=True)
class Dispatched:
    """The Run that stands, and whether this call made it or an earlier one with the same key."""

    run_id: RunId
    created: bool


async def dispatch(  # noqa: PLR0913 - the options of a public call
    store: Store,
    version: Version | Spec | str,
    scope: Scope,
    *,
    input: Spoken | None = None,
    idempotency_key: str | None = None,
    deadline_seconds: float | None = None,
    delay_seconds: float | None = None,
    priority: int = 0,
) -> Dispatched:
    """Begin a Run. When this returns it is durable, and Workers have been told.

    `version` is a Spec (published first), a Version (stored if it is not yet) or a hash. `input` is a JSON
    object of at most 1 MiB; a text, or parts of a message, mean `{"message": …}`. With `idempotency_key` the
    tenant's first Run of that key is the answer. `deadline_seconds`: over 0, at most 86 400, else the Spec's
    limit; it counts from the end of `delay_seconds`, 0 to 31 536 000. `priority`: -100 to 100, higher first
    in the tenant.

    Raises `VersionNotFound`, `SpecValidationError`, `EntryTooLarge`, `IdempotencyConflict` naming what
    differs, `ValueError` for a part that the Spec's model does not accept, and `AccessDenied` on a store
    scoped to another `scope`.
    """
    if deadline_seconds is not None:
        seconds("deadline_seconds", deadline_seconds, MAX_DEADLINE, zero=False)
    order = _Order(
        scope=of_kind("scope", scope, Scope),
        input=spoken("input", {} if input is None else input, MAX_INPUT_BYTES),
        key=None if idempotency_key is None else identifier("idempotency_key", idempotency_key),
        deadline_seconds=deadline_seconds,
        delay_seconds=0.0 if delay_seconds is None else seconds("delay_seconds", delay_seconds, MAX_DELAY),
        priority=whole("priority", priority, -100, 100),
    )
    scope_of(store, scope)
    stored = await _stored(store, version)
    accepted("input", order.input, stored.spec)
    return await _admit(store, stored, order)


@dataclass(frozen=True, slots=True)
class _Order:
    """What was asked for."""

    scope: Scope
    input: Mapping[str, Json]
    key: str | None
    deadline_seconds: float | None
    delay_seconds: float
    priority: int


async def _stored(store: Store, version: Version | Spec | str) -> Version:
    if isinstance(version, AgentSpec):
        return await publish(store, version)
    if isinstance(version, Version):
        return await store.put_version(version)
    if not isinstance(cast("object", version), str):
        raise TypeError(f"version: give a Spec, a Version or its hash, not {type(version).__name__}")
    version_hash = VersionHash(identifier("version", version))
    return await store.get_version(version_hash)


async def _admit(store: Store, version: Version, order: _Order) -> Dispatched:
    await store.codec.prepare(order.scope)
    record = _admitted(store, version, order)
    entry = encode(record, after=GENESIS, scope=order.scope, codec=store.codec)
    header = RunHeader(
        run_id=record.run_id,
        scope=order.scope,
        name=version.name,
        request=_request(record),
        idempotency_key=order.key,
        priority=order.priority,
        root_run_id=record.run_id,
        created_at=record.at,
        head=entry.head,
        ready_at=record.not_before or NOW,
        version_hash=version.hash,
        deadline_at=record.deadline_at,
    )
    try:
        run_id = await until_known(store, lambda: store.admit(header, [entry]))
    except IdempotencyConflict as conflict:
        raise await _narrowed(store, conflict, record) from None
    return Dispatched(run_id, created=run_id == record.run_id)


def _admitted(store: Store, version: Version, order: _Order) -> RunAdmitted:
    now = store.clock.now()
    run_id = _new_run_id(now)
    begins_at = now + timedelta(seconds=order.delay_seconds)
    limit = order.deadline_seconds or version.spec.limits.deadline_seconds
    record = RunAdmitted(
        version_hash=version.hash,
        scope=order.scope,
        input=order.input,
        idempotency_key=order.key,
        deadline_at=begins_at + timedelta(seconds=limit),
        not_before=begins_at if order.delay_seconds else None,
        digest_salt=secrets.token_bytes(16),
        root_run_id=run_id,
    )
    return stamp(record, run_id=run_id, seq=1, at=now, tenant=order.scope.tenant, epoch=0)


def _new_run_id(now: datetime) -> RunId:
    """Ids begin with their time in milliseconds, so that a store can be divided by it."""
    return RunId(f"run_{int(now.timestamp() * 1000):012x}{secrets.token_hex(12)}")


def _request(record: RunAdmitted) -> bytes:
    """What an equal request has in common. It is keyed, so that nobody finds out an input by guessing."""
    key = record.idempotency_key.encode() if record.idempotency_key else record.digest_salt
    return hmac.digest(key, encode_json({"input": record.input, "version": record.version_hash}), "sha256")


async def _narrowed(store: Store, conflict: IdempotencyConflict, ours: RunAdmitted) -> IdempotencyConflict:
    """The conflict with the field that differs from the admission that stands, unless that Run is gone."""
    try:
        header = await store.get_run(RunId(conflict.run_id))
    except RunNotFound:
        return conflict
    (first,) = await LogReader(store, header).records(1)
    differs = "request"
    if isinstance(first, RunAdmitted):
        if first.version_hash != ours.version_hash:
            differs = "version"
        elif not json_equal(first.input, ours.input):
            differs = "input"
    return IdempotencyConflict(conflict.key, conflict.run_id, differs)
