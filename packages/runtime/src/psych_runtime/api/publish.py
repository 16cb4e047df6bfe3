"""A Spec becomes a Version."""

from __future__ import annotations

from psych_runtime.api.arguments import of_kind
from psych_runtime_core.ports.store import Store
from psych_runtime_core.spec.agent import AgentSpec
from psych_runtime_core.spec.document import Spec
from psych_runtime_core.spec.validate.context import ValidationContext
from psych_runtime_core.spec.validate.run import validate_spec
from psych_runtime_core.version import Version, checked


async def publish(store: Store, spec: Spec, *, context: ValidationContext | None = None) -> Version:
    """The stored Version of `spec`; publishing it again gives the same one.

    `context` says which names exist, None checks none. Raises `SpecValidationError` with every issue, and
    `EntryTooLarge`.
    """
    if context is not None:
        of_kind("context", context, ValidationContext)
    version = checked(of_kind("spec", spec, AgentSpec))
    validate_spec(version.spec, context)
    return await store.put_version(version)
