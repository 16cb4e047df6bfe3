"""What each check is called, in the order in which they are told."""

from __future__ import annotations

from collections.abc import Mapping

from psych_runtime.cli.documents import Check

TITLES: Mapping[str, str] = {
    "python": "the Python that runs this",
    "versions": "all distributions of Psych are of one release",
    "extras": "what is optional, and here",
    "drivers": "what the extras need can be loaded",
    "env": "variables that the command and its projects read",
    "skills": "the skills of this folder",
    "store.open": "the store answers",
    "store.schema": "its schema is of this release",
    "store.durability": "what an acknowledged write survives",
    "store.clock": "its clock and ours agree",
    "store.latency": "how long one question takes",
    "store.library": "the library that it is reached by",
    "store.blobs": "it holds the blobs of its Runs",
    "store.leftovers": "nothing is left of Runs that are gone",
}


def ok(check: str, detail: str, fix: str | None = None) -> Check:
    return Check(check, TITLES[check], "ok", detail, fix)


def warn(check: str, detail: str, fix: str | None = None) -> Check:
    return Check(check, TITLES[check], "warn", detail, fix)


def fail(check: str, detail: str, fix: str) -> Check:
    return Check(check, TITLES[check], "fail", detail, fix)


def skip(check: str, detail: str, fix: str | None = None) -> Check:
    return Check(check, TITLES[check], "skip", detail, fix)
