"""What every record has: the envelope, its field types, and which fields are content."""

from __future__ import annotations

import base64
from datetime import UTC, datetime
from typing import Annotated, TypeVar

from pydantic import AfterValidator, AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field

from psych_runtime_core.ids import RunId

UNSTAMPED = datetime(1970, 1, 1, tzinfo=UTC)
CUT = "… [truncated]"


def cut(text: str, limit: int) -> str:
    """`text` in at most `limit` characters, its end replaced by a marker where it was longer."""
    return text if len(text) <= limit else text[: limit - len(CUT)] + CUT


def _as_bytes(value: object) -> object:
    return base64.b64decode(value, validate=True) if isinstance(value, str) else value


def at_most(limit: int) -> AfterValidator:
    """The bound of a text that may hold anything, lone surrogates too, which pydantic's own refuses."""

    def check(text: str) -> str:
        if len(text) > limit:
            raise ValueError(f"has {len(text)} characters, at most {limit} are kept")
        return text

    return AfterValidator(check)


def cut_at(limit: int) -> AfterValidator:
    """The bound of a text that is cut to fit and never refused."""
    return AfterValidator(lambda text: cut(text, limit))


def _utc(at: datetime) -> datetime:
    return at.astimezone(UTC)


Instant = Annotated[AwareDatetime, AfterValidator(_utc)]
Bytes = Annotated[bytes, BeforeValidator(_as_bytes)]
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=0)]
Ordinal = Annotated[int, Field(ge=1)]


class FactModel(BaseModel):
    """The base of records and of the values in them: frozen, closed."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True, allow_inf_nan=False)


class RecordModel(FactModel):
    """The envelope. A record is born without one; `stamp` fills it in. `epoch` 0 is an external writer."""

    run_id: RunId = RunId("")
    seq: Count = 0
    at: Instant = UNSTAMPED
    tenant: str = ""
    epoch: Count = 0
    lane: str = ""
    erased: bool = False


R = TypeVar("R", bound=RecordModel)


def stamp(record: R, *, run_id: RunId, seq: int, at: datetime, tenant: str, epoch: int) -> R:
    """`record` with its envelope. Raises `ValueError` for a naive `at`."""
    if at.tzinfo is None:
        raise ValueError("an instant must be aware; give it a timezone")
    envelope = {"run_id": run_id, "seq": seq, "at": at.astimezone(UTC), "tenant": tenant, "epoch": epoch}
    return record.model_copy(update=envelope)
