"""Whose Run it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, cast

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from psych_runtime_core.content import Content
from psych_runtime_core.ids import Identifier
from psych_runtime_core.jsonvalue import FrozenDict


def _frozen(labels: Mapping[str, str]) -> Mapping[str, str]:
    return cast("Mapping[str, str]", FrozenDict(labels))


class Scope(BaseModel):
    """The tenant a Run belongs to, who acts in it, and what else the consumer wants to know of them.

    Each text has 1..256 characters; at most 32 labels. Compared exactly: case and spelling matter.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    tenant: Identifier
    principal: Annotated[Identifier | None, Content()] = None
    labels: Annotated[
        Mapping[Identifier, Identifier], Field(max_length=32), AfterValidator(_frozen), Content({})
    ] = _frozen({})
