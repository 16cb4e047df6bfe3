"""Judging a value, with work that is bounded before it begins."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import islice
from typing import Any

from jsonschema_rs import Draft202012Validator, ValidationError

from psych_runtime_core.errors import Violation, pointer
from psych_runtime_core.jsonvalue import Json, encode_json
from psych_runtime_core.schema.build import build, of_one_draft, plain
from psych_runtime_core.schema.cost import Cost, bounded
from psych_runtime_core.schema.sealed import sealed
from psych_runtime_core.schema.size import has_blind_tag, places
from psych_runtime_core.schema.wording import said

MAX_JUDGED_WHOLE = 2_000
# A visit takes the judge 5 to 50 nanoseconds, in which a pattern reads some bytes.
MAX_VISITS = 50_000_000
BYTES_A_VISIT = 16
# An error takes it ten microseconds.
MAX_ERRORS = 50_000
_TOO_LONG = "takes too long to judge: send less, or let a const tell the alternatives of the schema apart"
_NOWHERE = "does not fit the schema; where is not said, since several of its ways lead to one place"


def violations(value: Json, schema: Mapping[str, Json], *, limit: int = 20) -> tuple[Violation, ...]:
    """Where `value` does not fit `schema`, at most `limit` places, of a large value one; `()` when it fits.

    A lone surrogate counts as U+FFFD. A schema that cannot be built, or not be judged by in a bounded time,
    refuses nothing: whoever published it without `check_schema` judges by it. A value that would take too
    long is refused by one violation that says so.
    """
    judge = _judge(encode_json(schema))
    if judge is None:
        return ()
    canonical = encode_json(value)
    judged = plain(canonical)
    if judge.takes_too_long(judged, len(canonical)):
        return (Violation("", _TOO_LONG),)
    if judge.verdict.is_valid(judged):
        return ()
    return tuple(islice(judge.violations(judged), limit))


@dataclass(frozen=True)
class _Judge:
    schema: dict[str, Any]
    verdict: Draft202012Validator
    cost: Cost

    def takes_too_long(self, value: Json, length: int) -> bool:
        """Whether judging `value`, of `length` bytes, could take seconds."""
        # A place takes a byte or more, so what is short enough need not be counted.
        if length * self.cost.untagged <= MAX_VISITS:
            return False
        visits = self.cost.untagged if has_blind_tag(value, self.cost.tags) else self.cost.total
        return (places(value) + length // BYTES_A_VISIT) * visits > MAX_VISITS

    def violations(self, value: Json) -> Iterator[Violation]:
        """Where `value`, which does not fit, does not; the verdict is quick, since it keeps what it found."""
        if self.cost.told is None or self._teller is None:
            yield Violation("", _NOWHERE)
            return
        size = places(value)
        # The judge collects every error before it gives the first: a million wrong items would hold the
        # loop for ten seconds. Of a large value it is asked for the first error alone.
        if size <= MAX_JUDGED_WHOLE and size * self.cost.told <= MAX_ERRORS:
            yield from map(_violation, self._teller.iter_errors(value))
            return
        try:
            self._teller.validate(value)
        except ValidationError as error:
            yield _violation(error)

    @cached_property
    def _teller(self) -> Draft202012Validator | None:
        schema = sealed(self.schema)
        try:
            return self.verdict if schema == self.schema else build(schema)
        except ValueError:
            return None


@lru_cache(maxsize=1024)
def _judge(canonical: bytes) -> _Judge | None:
    schema = of_one_draft(plain(canonical))
    try:
        return _Judge(schema, build(schema), bounded(schema))
    except ValueError:
        return None


def _violation(error: ValidationError) -> Violation:
    return Violation(pointer(tuple(error.instance_path)), said(error))
