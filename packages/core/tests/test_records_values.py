"""What a record can be built from, and what is cut or refused."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from pydantic import ValidationError

from packages.core.tests.samples import BARE, FULL, LATER
from psych_runtime_core.messages import TextPart
from psych_runtime_core.records import Record
from psych_runtime_core.records.facts import AnnouncedCall, ToolFailure
from psych_runtime_core.records.record import RECORD_ADAPTER, RECORD_CLASSES

MARK = "… [truncated]"


def rebuilt(name: str, group: dict[str, Record] = FULL, **fields: Any) -> Record:
    """The sample, validated anew with other fields."""
    told = {key: getattr(group[name], key) for key in group[name].model_fields_set - {"type"}}
    return RECORD_CLASSES[name](**{**told, **fields})


# --- failures are cut, never refused ---------------------------------------------------------------------


def test_a_failure_of_any_length_fits() -> None:
    failure = ToolFailure(
        kind="k" * 500, message="m" * 5_000_000, traceback="t" * 5_000_000 + "end", code="c" * 500
    )
    assert (len(failure.kind), len(failure.message), len(failure.code or "")) == (128, 8_192, 128)
    assert failure.kind.endswith(MARK)
    assert failure.message.endswith(MARK)
    assert failure.traceback is not None
    assert len(failure.traceback) == 65_536
    assert failure.traceback.startswith(MARK)
    assert failure.traceback.endswith("end")


def test_a_failure_that_fits_is_kept_as_it_is() -> None:
    failure = ToolFailure(kind="k" * 128, message="\x00\ud800" * 4_096, traceback="t" * 65_536)
    assert (failure.kind, failure.message) == ("k" * 128, "\x00\ud800" * 4_096)
    assert failure.traceback == "t" * 65_536


def test_a_hint_leads_at_most_a_day_ahead() -> None:
    assert ToolFailure(kind="k", retry_after_seconds=1e300).retry_after_seconds == 86_400
    assert ToolFailure(kind="k", retry_after_seconds=0.5).retry_after_seconds == 0.5


@pytest.mark.parametrize("hint", [-1.0, float("nan"), float("inf")])
def test_a_hint_that_is_no_time_is_refused(hint: float) -> None:
    with pytest.raises(ValidationError):
        ToolFailure(kind="k", retry_after_seconds=hint)


def test_a_name_that_a_model_wrote_is_cut() -> None:
    call: Any = {"call_id": "call_1", "name": "n" * 9_999, "arguments_digest": "a" * 64}
    assert AnnouncedCall(**call).name == "n" * (256 - len(MARK)) + MARK


# --- bounds ----------------------------------------------------------------------------------------------

ATTACHED: dict[str, Any] = {
    "name": "a",
    "handle": "out_1",
    "content_type": "text/plain",
    "size_bytes": 1,
    "observed_bytes": 1,
    "data": b"x",
    "stored": "inline",
}
BOUNDS: list[tuple[str, dict[str, Any]]] = [
    ("run_admitted", {"digest_salt": bytes(15)}),
    ("run_admitted", {"idempotency_key": ""}),
    ("run_admitted", {"idempotency_key": "x" * 257}),
    ("run_admitted", {"input": {"x": float("nan")}}),
    ("run_admitted", {"input": {1: "x"}}),
    ("run_admitted", {"input": []}),
    ("attempt_started", {"attempt_number": 0}),
    ("attempt_started", {"library": "x" * 33}),
    ("abort_requested", {"reason": "x" * 1_025}),
    ("abort_requested", {"requested_by": "\n"}),
    ("turn_started", {"turn": 0}),
    ("model_call_started", {"try_number": 0}),
    ("model_call_started", {"model": ""}),
    ("model_call_finished", {"calls": ()}),
    ("tool_call_started", {"arguments_digest": "A" * 64}),
    ("tool_call_started", {"tool": "x" * 257}),
    ("tool_call_finished", {"duration_seconds": -0.1}),
    ("tool_call_finished", {"duration_seconds": float("inf")}),
    ("tool_call_finished", {"preview": "x" * 4_001}),
    ("tool_call_finished", {"attachments": [{**ATTACHED, "handle": f"out_{n}"} for n in range(513)]}),
    ("tool_call_finished", {"result_handle": ""}),
    ("tool_call_finished", {"result": None, "result_blob_key": "k" * 257, "result_content_type": "a/b"}),
    ("tool_call_finished", {"attachments": [{**ATTACHED, "name": ""}]}),
    ("tool_call_finished", {"attachments": [{**ATTACHED, "name": "x" * 513}]}),
    ("tool_call_finished", {"attachments": [{**ATTACHED, "handle": "x" * 257}]}),
    ("tool_call_finished", {"attachments": [{**ATTACHED, "content_type": "x" * 129}]}),
    ("tool_call_finished", {"attachments": [{**ATTACHED, "stored": "elsewhere"}]}),
    ("tool_call_finished", {"media": [TextPart(text="no file")]}),
    ("suspended", {"question": "x" * 8_193}),
    ("suspended", {"reason": "boredom"}),
    ("resumed", {"payload": "text"}),
    ("queue_enqueued", {"entry_id": ""}),
    ("queue_enqueued", {"entry_id": "x" * 129}),
    ("turn_started", {"mood": "good"}),
]


@pytest.mark.parametrize(("name", "fields"), BOUNDS, ids=[f"{name}-{next(iter(f))}" for name, f in BOUNDS])
def test_a_field_out_of_bounds_is_refused(name: str, fields: dict[str, Any]) -> None:
    assert rebuilt(name) == FULL[name]
    with pytest.raises(ValidationError):
        rebuilt(name, **fields)


TOGETHER: list[tuple[str, dict[str, Any], str]] = [
    ("run_settled", {"failure": None}, "a failed Run says why"),
    ("run_settled", {"state": "abandoned", "failure": None}, "an abandoned Run says why"),
    ("run_settled", {"state": "completed"}, "a completed Run has no failure"),
    ("model_call_failed", {"next_model": None}, "a retry names a model"),
    ("model_call_failed", {"next": "stop"}, "an end names none"),
    ("model_call_failed", {"next": "stop", "next_model": None}, "an end has no moment"),
    ("tool_call_finished", {"outcome": "error"}, "an error has a failure"),
    ("tool_call_finished", {"outcome": "refused"}, "a refusal has a failure"),
    ("tool_call_finished", {"failure": ToolFailure(kind="k")}, "an ok has none"),
    ("tool_call_finished", {"answer_digest": None}, "an ok has a digest"),
    ("tool_call_finished", {"outcome": "unknown"}, "an unknown has no digest"),
    ("tool_call_finished", {"attachments": [{**ATTACHED, "data": None}]}, "an inline file has its data"),
    ("tool_call_finished", {"attachments": [{**ATTACHED, "stored": "blob"}]}, "another has none"),
    ("tool_call_finished", {"attachments": [{**ATTACHED, "observed_bytes": 0}]}, "a file did not grow"),
    ("tool_call_finished", {"attachments": [ATTACHED, ATTACHED]}, "two files have two handles"),
    ("tool_call_finished", {"result_handle": "out_1"}, "a result and its file have two handles"),
    ("tool_call_finished", {"result": None, "result_blob_key": "call_1.1"}, "a blob has a type"),
    ("tool_call_finished", {"result": None, "result_content_type": "a/b"}, "a type is of a blob"),
    (
        "tool_call_finished",
        {"result_blob_key": "call_1.1", "result_content_type": "a/b"},
        "a result stands in one place",
    ),
    ("resumed", {"approved": False}, "only an approval edits"),
    ("resumed", {"approved": None, "arguments": None}, "only a decision is remembered"),
]


@pytest.mark.parametrize(
    ("name", "fields"), [case[:2] for case in TOGETHER], ids=[case[2] for case in TOGETHER]
)
def test_fields_that_contradict_each_other_are_refused(name: str, fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        rebuilt(name, **fields)


def test_an_unknown_outcome_may_say_why() -> None:
    told: dict[str, Any] = {"outcome": "unknown", "answer_digest": None, "result": None}
    for failure in (None, ToolFailure(kind="force_settled")):
        assert rebuilt("tool_call_finished", **told, failure=failure).model_dump()["outcome"] == "unknown"


# --- instants and the union ------------------------------------------------------------------------------


def test_a_naive_instant_cannot_be_built() -> None:
    with pytest.raises(ValidationError):
        rebuilt("suspended", due_at=datetime(2026, 1, 1))  # noqa: DTZ001 - the case


def test_an_instant_of_any_zone_is_kept_in_utc() -> None:
    there = LATER.astimezone(timezone(timedelta(hours=5, minutes=30)))
    assert rebuilt("suspended", due_at=there) == rebuilt("suspended")
    assert rebuilt("suspended", due_at=there).model_dump()["due_at"].tzinfo is LATER.tzinfo


@pytest.mark.parametrize("record", [*FULL.values(), *BARE.values()], ids=lambda record: record.type)
def test_the_union_knows_each_type(record: Record) -> None:
    assert RECORD_ADAPTER.validate_python(record.model_dump()) == record


def test_a_record_never_changes() -> None:
    with pytest.raises(ValidationError):
        setattr(FULL["turn_started"], "seq", 8)  # noqa: B010 - a type checker refuses the plain form
