"""`read_tool_output`: a result or a file that was too large to be shown is read on, or searched."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, Protocol, cast

from psych_runtime.tools.context import ToolContext
from psych_runtime.tools.failures import CallFailed
from psych_runtime.tools.lines import Lines
from psych_runtime.tools.offered import offered_tool
from psych_runtime.tools.pages import Page, Window, page_of
from psych_runtime.tools.problem import MAX_FAULTS, Problem, invalid_arguments
from psych_runtime.tools.signature import Code
from psych_runtime_core.engine import wording
from psych_runtime_core.errors import BlobCorrupt, BlobNotFound, StoreUnavailable, Violation
from psych_runtime_core.jsonvalue import FrozenDict, Json, freeze
from psych_runtime_core.messages import ToolClass, ToolDefinition
from psych_runtime_core.records.facts import FailureKind, OfferedTool, ToolFailure
from psych_runtime_core.schema import violations
from psych_runtime_core.spec.names import READ_TOOL

DESCRIPTION = (
    "Reads on in a result or a file that was too large to be shown, by the handle that stands in its place."
    " It is read by lines: a text has its own, any other value is laid out as indented JSON. With a pattern,"
    " only the lines that hold this text come, with their numbers; offset and limit count among them then."
)
MAX_LINES = 1_000
LINES = 200
PARAMETERS = cast(
    "FrozenDict",
    freeze(
        {
            "type": "object",
            "properties": {
                "handle": {
                    "type": "string",
                    "maxLength": 256,
                    "description": "As it was told, such as res_12ab.",
                },
                "offset": {
                    "type": "integer",
                    "minimum": 0,
                    "default": 0,
                    "description": "Lines to pass over.",
                },
                "limit": {"type": "integer", "minimum": 1, "maximum": MAX_LINES, "default": LINES},
                "pattern": {
                    "type": ["string", "null"],
                    "minLength": 1,
                    "maxLength": 1_024,
                    "default": None,
                    "description": "Plain text, no expression. Capitals matter only if it has any.",
                },
            },
            "required": ["handle"],
            "additionalProperties": False,
        }
    ),
)


@dataclass(frozen=True, slots=True)
class Kept:
    """What a handle names: its size, and its lines, None for bytes that are no text."""

    size_bytes: int
    lines: Lines | None


class KeptOutputs(Protocol):
    """What this Run has kept, by handle."""

    def knows(self, handle: str) -> bool:
        """Whether a result or a file of this Run has that handle."""
        ...

    async def read(self, handle: str) -> Kept:
        """Raises `BlobNotFound`, `BlobCorrupt`, `StoreUnavailable`."""
        ...


@dataclass(frozen=True, slots=True)
class ReadToolOutput:
    """The tool over the outputs of one Run."""

    outputs: KeptOutputs

    name = READ_TOOL
    interruptible = True
    timeout_seconds = None
    max_concurrency = None
    parallel = True
    probe = None
    is_async = True
    takes_context = False

    @property
    def offered(self) -> OfferedTool:
        """What a log holds of it where it is offered."""
        return _offered()

    def definition(self) -> ToolDefinition:
        """What a model is offered; the same object every time."""
        return _definition()

    def validate(self, arguments: Mapping[str, Json]) -> Mapping[str, object] | Problem:
        """The arguments themselves, if they fit and name what this Run has kept."""
        faults = violations(arguments, PARAMETERS, limit=MAX_FAULTS)
        if not faults and not self.outputs.knows(str(arguments["handle"])):
            faults = (Violation("/handle", "names nothing that was kept here; give one that you were told"),)
        return invalid_arguments(faults) if faults else arguments

    def bind(self, values: Mapping[str, object], context: ToolContext | None) -> Code:
        """The reading, to be called with nothing more."""
        del context
        given = cast("Mapping[str, Any]", values)
        window = Window(given.get("offset", 0), given.get("limit", LINES), given.get("pattern"))
        return partial(self._read, given["handle"], window)

    def bind_probe(self, key: str, context: ToolContext | None) -> None:
        """Reading changes nothing, so nobody has to ask what became of it."""
        del key, context

    async def _read(self, handle: str, window: Window) -> Mapping[str, object]:
        try:
            kept = await self.outputs.read(handle)
        except (BlobNotFound, BlobCorrupt) as error:
            failure = ToolFailure(kind=FailureKind.BLOB_MISSING, message=wording.blob_missing(handle))
            raise CallFailed(failure) from error
        except StoreUnavailable as error:
            failure = ToolFailure(
                kind=FailureKind.TRANSIENT, message=wording.output_away(handle), transient=True
            )
            raise CallFailed(failure) from error
        lines = kept.lines or Lines()
        page = await page_of(lines, window)
        known = {"handle": handle, "binary": kept.lines is None, "total_size_bytes": kept.size_bytes}
        return {**known, "total_lines": len(lines), **_told(page, window)}


def _told(page: Page, window: Window) -> Mapping[str, object]:
    searched = window.pattern is not None
    matches = [{"line_number": line.number, "text": line.text} for line in page.lines]
    return {
        "offset": window.offset,
        "limit": window.limit,
        "pattern": window.pattern,
        "total_matches": page.matches,
        "returned_lines": len(page.lines),
        "truncated": page.truncated,
        "content": "" if searched else "\n".join(line.text for line in page.lines),
        "matches": matches if searched else [],
    }


@cache
def _definition() -> ToolDefinition:
    return ToolDefinition(
        name=READ_TOOL,
        description=DESCRIPTION,
        parameters=PARAMETERS,
        annotations=frozenset({ToolClass.READ_ONLY}),
        safe_to_retry=True,
    )


@cache
def _offered() -> OfferedTool:
    return offered_tool(_definition(), "builtin")
