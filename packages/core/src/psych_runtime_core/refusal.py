"""Refusals that pydantic reports at their exact place, under our own codes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

from pydantic import ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError

from psych_runtime_core.errors import Loc


@dataclass(frozen=True, slots=True)
class Refusal:
    """What is wrong with `given`, and where it stands below the value that is being validated."""

    code: str
    reason: str
    given: object
    loc: Loc = ()

    def details(self) -> InitErrorDetails:
        """This refusal as pydantic takes it; its error's context holds `code` and `reason`."""
        error = PydanticCustomError("refused", "{reason}", {"code": self.code, "reason": self.reason})
        return InitErrorDetails(type=error, loc=self.loc, input=self.given)


def refuse(*refusals: Refusal) -> NoReturn:
    """Raise one `pydantic.ValidationError` that holds them all, from inside a validator."""
    raise ValidationError.from_exception_data("value", [refusal.details() for refusal in refusals])
