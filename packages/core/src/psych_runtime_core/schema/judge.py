"""Judging a value, with work that is bounded before it begins."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from itertools import islice
from typing import Any

from jsonschema_rs import Draft202012Validator, ValidationError

from psych_runtime_core.errors import Violation, pointer
from psych_runtime_core.jsonvalue import Json, encode_json
from psych_runtime_core.schema.asked import Asking
from psych_runtime_core.schema.build import build, of_one_draft, plain
from psych_runtime_core.schema.load import Load, bounded
from psych_runtime_core.schema.met import met
from psych_runtime_core.schema.patterns import measured
from psych_runtime_core.schema.reading import Readings, weighed
from psych_runtime_core.schema.recent import Held, Recent
from psych_runtime_core.schema.rest import outline, without_patterns
from psych_runtime_core.schema.sealed import sealed
from psych_runtime_core.schema.size import Amounts, depth, has_blind_tag
from psych_runtime_core.schema.survey import Survey
from psych_runtime_core.schema.worded import Worded, worded
from psych_runtime_core.schema.wording import said

MAX_JUDGED_WHOLE = 2_000
# A visit takes the judge 5 to 50 nanoseconds.
MAX_VISITS = 50_000_000
# An error takes it ten microseconds, and 25 nanoseconds a byte of what it says.
MAX_ERRORS = 50_000
MAX_SAID_BYTES = 4 * 1024 * 1024
# As copied, so many bytes take the time of one that is said.
_COPIED = 4
_TOO_LONG = (
    "takes too long to judge: send less, or let the schema have fewer patterns, fewer listed values, and a "
    "const that tells its alternatives apart"
)
_NOWHERE = "does not fit the schema; where is not said, since several of its ways lead to one place"


def violations(value: Json, schema: Mapping[str, Json], *, limit: int = 20) -> tuple[Violation, ...]:
    """Where `value` does not fit `schema`, at most `limit` places, of a large value one; `()` when it fits.

    A lone surrogate counts as U+FFFD. A schema that cannot be built, or not be judged by in a bounded time,
    refuses only what the rest of it does: the schema without its patterns, or its types and required members;
    whoever published it without `check_schema` judges by all. A value that would take too long is refused by
    one violation that says so.
    """
    judge = _judge(encode_json(schema))
    if judge is None:
        return ()
    canonical = encode_json(value)
    judged = plain(canonical)
    amounts = Amounts(canonical)
    if judge.takes_too_long(judged, amounts):
        return (Violation("", _TOO_LONG),)
    if judge.verdict.is_valid(judged):
        return ()
    return tuple(islice(judge.violations(judged, amounts), limit))


@dataclass(frozen=True)
class _Judge:
    schema: dict[str, Any]
    written: Mapping[str, str]
    readings: Readings
    programs: int
    """The bytes that its patterns have once they are compiled."""
    verdict: Draft202012Validator
    load: Load

    def takes_too_long(self, value: Json, amounts: Amounts) -> bool:
        """Whether judging `value` could take seconds."""
        tagged = not (self.load.tags and has_blind_tag(value, self.load.tags))
        weights = self.load.usual if tagged else self.load.blind
        work: dict[str, int] = {unit: weight * getattr(amounts, unit) for unit, weight in weights.items()}
        total = sum(work.values())
        if total <= MAX_VISITS:
            return False
        left = MAX_VISITS - work["visits"]
        return left <= 0 or met(self._asking, value, left) is None

    def violations(self, value: Json, amounts: Amounts) -> Iterator[Violation]:
        """Where `value`, which does not fit, does not; the verdict is quick, since it keeps what it found."""
        if self.load.told is None or self._teller is None:
            yield Violation("", _NOWHERE)
            return
        # The judge collects every error before it gives the first: a million wrong items would hold the
        # loop for ten seconds. Of a large value it is asked for the first error alone.
        if self._tells_all(value, amounts, self.load.told):
            yield from map(self._violation, self._teller.iter_errors(value))
            return
        try:
            self._teller.validate(value)
        except ValidationError as error:
            yield self._violation(error)

    def _violation(self, error: ValidationError) -> Violation:
        return Violation(pointer(tuple(error.instance_path)), said(error, self.written))

    def _tells_all(self, value: Json, amounts: Amounts, told: int) -> bool:
        """Whether every error can be told at once; each repeats a piece of the schema, and has its value."""
        errors = amounts.values * told
        if amounts.values > MAX_JUDGED_WHOLE or errors > MAX_ERRORS:
            return False
        copied = amounts.length * (depth(value) + 1) * told
        return errors * self.load.said + copied // _COPIED <= MAX_SAID_BYTES

    @cached_property
    def _asking(self) -> Asking:
        return Asking(Survey(self.schema, self.readings))

    @cached_property
    def _teller(self) -> Draft202012Validator | None:
        schema = sealed(self.schema)
        try:
            return self.verdict if schema == self.schema else build(schema)
        except ValueError:
            return None


_JUDGES: Recent[_Judge | None] = Recent(1_024, 128 * 1024 * 1024)
# What a judge has in memory for each byte of its schema.
_BYTES_A_BYTE = 16


def _judge(canonical: bytes) -> _Judge | None:
    digest = sha256(canonical).digest()
    held = _JUDGES.get(digest)
    if held is None:
        judge = _built(canonical)
        programs = judge.programs if judge is not None else 0
        held = Held(judge, _BYTES_A_BYTE * len(canonical) + programs)
        _JUDGES.put(digest, held)
    return held.value


def _built(canonical: bytes) -> _Judge | None:
    """The judge by a schema, but for patterns that cannot be built; where there is none, by its outline."""
    schema, written = worded(of_one_draft(plain(canonical)))
    found = measured(schema)
    if not found.all:
        schema = without_patterns(schema, found.sizes)
    judge = _judge_by(Worded(schema, written), found.sizes)
    return judge or _judge_by(Worded(outline(schema), {}), {})


def _judge_by(by: Worded, sizes: Mapping[str, int]) -> _Judge | None:
    readings = weighed(sizes)
    programs = sum(sizes.values())
    try:
        return _Judge(*by, readings, programs, build(by.schema), bounded(by.schema, readings))
    except ValueError:
        return None
