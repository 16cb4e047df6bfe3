"""Whoever writes to a Run, in whichever order their calls reach the store."""

from psych_runtime_contract.store.schedules.suite import EVERY_SCHEDULE, StoreSchedules

__all__ = ["EVERY_SCHEDULE", "StoreSchedules"]
