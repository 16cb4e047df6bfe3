"""A name that nobody knows, and those that are nearest to it."""

from __future__ import annotations

from collections.abc import Collection
from difflib import get_close_matches

from psych_runtime_core.errors import ValidationIssue
from psych_runtime_core.spec.issues import IssueCode

# Comparing two names takes some ten microseconds, and 200 issues may each look for the nearest ones.
MAX_COMPARED = 500


def unknown(code: IssueCode, path: str, what: str, name: str, known: Collection[str]) -> ValidationIssue:
    """The issue of a name that is none of `known`."""
    near = nearest(name, known)
    if near:
        hint = f"; did you mean {' or '.join(repr(one) for one in near)}?"
    else:
        hint = "" if known else "; there are none"
    return ValidationIssue(code, path, f"there is no {what} {name!r}{hint}")


def nearest(name: str, known: Collection[str]) -> list[str]:
    """Up to three names that are like it, the most alike first; of a crowd none is sought."""
    return get_close_matches(name, sorted(known), n=3) if len(known) <= MAX_COMPARED else []
