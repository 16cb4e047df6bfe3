"""How a model is silent."""

from __future__ import annotations

from psych_runtime_core.clock import Clock
from psych_runtime_core.errors import ModelError, ModelErrorKind


async def silence(clock: Clock, seconds: float, idle_timeout: float) -> None:
    """Past the idle timeout (0: none) it ends as over a socket; none at all is one turn of the loop."""
    if 0 < idle_timeout < seconds:
        await clock.sleep(idle_timeout)
        raise ModelError(ModelErrorKind.TRANSIENT, f"silent for {idle_timeout:g} seconds", code="idle")
    await clock.sleep(seconds)
