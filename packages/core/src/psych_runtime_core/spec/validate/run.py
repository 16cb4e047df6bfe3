"""Runs the rules, in order, up to a cap."""

from __future__ import annotations

from itertools import chain, islice

from psych_runtime_core.errors import SpecValidationError, ValidationIssue
from psych_runtime_core.spec.document import Spec
from psych_runtime_core.spec.issues import IssueCode
from psych_runtime_core.spec.validate.context import ValidationContext
from psych_runtime_core.spec.validate.rules import RULES

MAX_ISSUES = 200


def collect_issues(spec: Spec, context: ValidationContext | None = None) -> tuple[ValidationIssue, ...]:
    """All that is wrong with `spec`, in document order: at most 200 issues, then one `too_many`."""
    known = context or ValidationContext()
    issues = tuple(islice(chain.from_iterable(rule(spec, known) for rule in RULES), MAX_ISSUES + 1))
    if len(issues) <= MAX_ISSUES:
        return issues
    rest = ValidationIssue(IssueCode.TOO_MANY, "", f"there are more than {MAX_ISSUES} issues")
    return (*issues[:MAX_ISSUES], rest)


def validate_spec(spec: Spec, context: ValidationContext | None = None) -> None:
    """Raise `SpecValidationError` with all that is wrong with `spec`, if anything is."""
    issues = collect_issues(spec, context)
    if issues:
        raise SpecValidationError(issues)
