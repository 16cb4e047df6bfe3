"""JSON Schema, draft 2020-12: the one judge of a schema, and of a value against one. It does no I/O."""

from psych_runtime_core.schema.check import (
    MAX_SCHEMA_DEPTH,
    check_schema,
)
from psych_runtime_core.schema.judge import (
    MAX_JUDGED_WHOLE,
    violations,
)
from psych_runtime_core.schema.moved import moved

__all__ = ["MAX_JUDGED_WHOLE", "MAX_SCHEMA_DEPTH", "check_schema", "moved", "violations"]
