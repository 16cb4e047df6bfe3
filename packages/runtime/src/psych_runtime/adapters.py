"""What reads any Record out of plain JSON."""

from psych_runtime_core.records.record import record_adapter

RECORD_ADAPTER = record_adapter()
