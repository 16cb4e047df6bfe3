"""What is wrong with a commit by itself, whatever is stored."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from psych_runtime.testing.clock import START
from psych_runtime_contract.store.scenes import (
    PROGRESS,
    RUN,
    SETTLE,
    WAKE,
    WORKER,
    admission,
    appending,
    batch,
    rest,
)
from psych_runtime_core.errors import EntryTooLarge
from psych_runtime_core.ids import RunId, VersionHash
from psych_runtime_core.ports.checks import SEAL_BYTES, check_commit, check_version
from psych_runtime_core.ports.runs import HeaderFacts, Lease
from psych_runtime_core.ports.writes import Admit, Append, HeaderAction, HeaderChange, Write
from psych_runtime_core.records import MAX_BODY_BYTES, MAX_COMMIT_BYTES
from psych_runtime_core.records.facts import TerminalState

LEASE = Lease(RUN, WORKER, 1, START + timedelta(seconds=30))
NAIVE = START.replace(tzinfo=None)
HEADER = admission().header
FAILED = TerminalState.FAILED


def append(change: HeaderChange | None = None, lease: Lease | None = None) -> Append:
    return appending(HEADER, b"one", b"two", change=change or HeaderChange(), lease=lease)


def with_last(write: Append, **fields: Any) -> Append:
    return replace(write, entries=(*write.entries[:-1], replace(write.entries[-1], **fields)))


def with_header(**fields: object) -> Admit:
    write = admission()
    return replace(write, header=write.header.model_copy(update=fields))


SOUND: dict[str, Write] = {
    "an admission": admission(),
    "an admission of two records, with a key": admission(bodies=[b"one", b"two"], idempotency_key="key"),
    "an append from outside": append(),
    "a wake": append(WAKE),
    "an append under a lease": append(lease=LEASE),
    "progress": append(PROGRESS, LEASE),
    "a rest": append(rest(START), LEASE),
    "an empty rest": replace(append(rest(), LEASE), entries=()),
    "the end": append(SETTLE, LEASE),
}


@pytest.mark.parametrize("write", SOUND.values(), ids=SOUND)
def test_a_sound_write_passes(write: Write) -> None:
    check_commit([write])


ENDED_AS_NOTHING = replace(append(SETTLE, LEASE), change=HeaderChange(HeaderAction.SETTLE))
ENDED_TWICE = replace(append(SETTLE, LEASE), entries=batch(HEADER.head, b"one", epoch=1, settles=True) * 2)
DEADLINE = HeaderChange(facts=HeaderFacts(VersionHash("v"), deadline_at=NAIVE))

MALFORMED: dict[str, tuple[Write, str]] = {
    "a rest from outside": (append(rest()), "needs a lease"),
    "an end from outside": (append(SETTLE), "needs a lease"),
    "progress from outside": (append(PROGRESS), "needs a lease"),
    "a wake under a lease": (append(WAKE, LEASE), "wakes nobody"),
    "the lease of another Run": (append(lease=replace(LEASE, run_id=RunId("b"))), "lease is of b"),
    "nothing to append": (replace(append(), entries=()), "may be empty"),
    "an empty wake": (replace(append(WAKE), entries=()), "may be empty"),
    "a terminal state without an end": (append(HeaderChange(terminal=FAILED), LEASE), "terminal"),
    "an end without a terminal state": (ENDED_AS_NOTHING, "terminal"),
    "a time without a rest": (append(HeaderChange(ready_at=START)), "look again"),
    "a naive time": (append(rest(NAIVE), LEASE), "timezone"),
    "a naive deadline": (append(DEADLINE), "timezone"),
    "a naive entry": (with_last(append(), at=NAIVE), "timezone"),
    "a gap": (with_last(append(), seq=9), "seq 3"),
    "an epoch from outside": (with_last(append(), epoch=1), "epoch"),
    "another epoch than the lease's": (with_last(append(lease=LEASE), epoch=0), "epoch"),
    "a short digest": (with_last(append(), digest=b"x" * 31), "32 bytes"),
    "an end without its record": (with_last(append(SETTLE, LEASE), type="turn_started"), "run_settled"),
    "the record of an end alone": (with_last(append(lease=LEASE), type="run_settled"), "run_settled"),
    "an end before the last entry": (with_last(ENDED_TWICE, seq=3), "run_settled"),
    "an empty admission": (replace(admission(), entries=()), "has entries"),
    "an admission with another head": (with_header(head=append().head), "last entry"),
    "an admission with an epoch that is ready": (with_header(epoch=1), "waits to be woken"),
    "an admission with a lease": (with_header(lease=LEASE), "nobody's"),
    "an admission that is erased": (with_header(erased=True), "not erased"),
    "an admission that ended at no time": (with_header(terminal=FAILED), "an instant"),
    "an admission that ended, and is ready": (
        with_header(terminal=FAILED, settled_at=START),
        "waits to be woken",
    ),
    "an admission that ended, whose log did not": (
        with_header(terminal=FAILED, settled_at=START, ready_at=None),
        "run_settled",
    ),
    "an admission of a later epoch than its header": (
        replace(admission(), entries=(replace(admission().entries[0], epoch=2),)),
        "an entry's 2",
    ),
}


@pytest.mark.parametrize(("write", "reason"), MALFORMED.values(), ids=MALFORMED)
def test_a_malformed_write_is_refused(write: Write, reason: str) -> None:
    with pytest.raises(ValueError, match=reason) as caught:
        check_commit([write])
    assert RUN in str(caught.value)


@pytest.mark.parametrize(
    ("writes", "reason"),
    [
        pytest.param([], "1 to 16", id="none"),
        pytest.param([admission(f"run_{number}") for number in range(17)], "1 to 16", id="17 Runs"),
        pytest.param([append(), append()], "once", id="a Run twice"),
        pytest.param([append(), admission("b", idempotency_key="key")], "key", id="a key among others"),
    ],
)
def test_a_malformed_commit_is_refused(writes: list[Write], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        check_commit(writes)


def test_a_commit_may_be_as_large_as_its_limit_with_its_seals() -> None:
    bodies = [b"x" * (MAX_BODY_BYTES + SEAL_BYTES)] * (MAX_COMMIT_BYTES // MAX_BODY_BYTES)
    check_commit([appending(HEADER, *bodies)])
    with pytest.raises(EntryTooLarge):
        check_commit([appending(HEADER, *bodies, b"x" * (SEAL_BYTES + 1))])


def test_a_commit_is_measured_over_all_its_writes() -> None:
    bodies = [b"x" * MAX_BODY_BYTES] * 3
    check_commit([admission("a", bodies=bodies)])
    with pytest.raises(EntryTooLarge):
        check_commit([admission("a", bodies=bodies), admission("b", bodies=bodies)])


def test_a_version_over_five_mebibytes_is_refused() -> None:
    check_version(b"x" * 5 * 1024 * 1024)
    with pytest.raises(EntryTooLarge):
        check_version(b"x" * (5 * 1024 * 1024 + 1))
