"""What is said of a tool beside its function: its class, and how its calls may run."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, TypedDict

from psych_runtime_core.errors import ToolSchemaError
from psych_runtime_core.messages import ToolClass

Probe = Callable[..., Awaitable[object]]


class ToolFlags(TypedDict, total=False):
    """The keywords of `register`.

    `annotations`: the class of the tool, one or several of `read-only`, `write`, `destructive`; none is
    `write`. `safe_to_retry`: it may be run again after a crash, under the same key; None means when it is
    read-only. `interruptible`: being cut leaves nothing half done. `timeout_seconds`: of one run, over 0, at
    most a day. `max_concurrency`: calls at once in this process, 1 to 10,000. `parallel=False`: it runs
    beside no other call of its lane. `probe`: an async function of a call's idempotency key that asks the
    world whether the call took effect. `strict`: the provider enforces the schema.
    """

    annotations: str | Iterable[str]
    safe_to_retry: bool | None
    interruptible: bool
    timeout_seconds: float | None
    max_concurrency: int | None
    parallel: bool
    probe: Probe | None
    strict: bool


class CheckedFlags(TypedDict):
    """All of them, each within its bounds."""

    annotations: frozenset[ToolClass]
    safe_to_retry: bool
    interruptible: bool
    timeout_seconds: float | None
    max_concurrency: int | None
    parallel: bool
    probe: Probe | None
    strict: bool


def check_flags(flags: Mapping[str, Any], tool: str) -> CheckedFlags:
    """`flags`, with a default for each that is absent. Raises `ToolSchemaError` for one out of bounds."""
    unknown = sorted(set(flags) - set(ToolFlags.__annotations__))
    if unknown:
        raise TypeError(
            f"a tool has no flag {unknown[0]!r}; the flags are {', '.join(ToolFlags.__annotations__)}"
        )
    annotations = _classes(flags.get("annotations", ()), tool)
    safe_to_retry = flags.get("safe_to_retry")
    read_only = annotations == frozenset({ToolClass.READ_ONLY})
    return CheckedFlags(
        annotations=annotations,
        safe_to_retry=read_only if safe_to_retry is None else _truth("safe_to_retry", safe_to_retry, tool),
        interruptible=_truth("interruptible", flags.get("interruptible", True), tool),
        timeout_seconds=_seconds(flags.get("timeout_seconds"), tool),
        max_concurrency=_count(flags.get("max_concurrency"), tool),
        parallel=_truth("parallel", flags.get("parallel", True), tool),
        probe=flags.get("probe"),
        strict=_truth("strict", flags.get("strict", False), tool),
    )


def _classes(stated: str | Iterable[str], tool: str) -> frozenset[ToolClass]:
    words = [stated] if isinstance(stated, str) else list(stated)
    unknown = [word for word in words if word not in list(ToolClass)]
    if unknown:
        advice = f"write some of {', '.join(map(repr, map(str, ToolClass)))}"
        raise ToolSchemaError(tool, None, f"annotation {unknown[0]!r} is unknown: {advice}")
    classes = frozenset(map(ToolClass, words))
    if ToolClass.READ_ONLY in classes and len(classes) > 1:
        raise ToolSchemaError(
            tool, None, "it cannot be 'read-only' and change something: write one of the two"
        )
    return classes


def _truth(flag: str, value: object, tool: str) -> bool:
    if not isinstance(value, bool):
        raise ToolSchemaError(tool, None, f"write `{flag}=True` or `{flag}=False`, not {value!r}")
    return value


def _seconds(value: object, tool: str) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 86_400:
        raise ToolSchemaError(tool, None, f"write `timeout_seconds` over 0, at most 86400, not {value!r}")
    return float(value)


def _count(value: object, tool: str) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 10_000:
        raise ToolSchemaError(tool, None, f"write `max_concurrency` from 1 to 10000, not {value!r}")
    return value
