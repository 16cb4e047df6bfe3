"""The library to build your own agentic platform on. Every name loads when it is first used."""

from __future__ import annotations

from importlib import import_module

# What a program types; `dir()` shows these. `__init__.pyi` tells type checkers the same names.
_FRONT = {
    "psych_runtime.api.answers": "Answer",
    "psych_runtime.api.dispatch": "Dispatched dispatch",
    "psych_runtime.api.export_run": "export_run",
    "psych_runtime.api.import_run": "import_run",
    "psych_runtime.api.publish": "publish",
    "psych_runtime.api.purge": "purge",
    "psych_runtime.api.reading": "records stream",
    "psych_runtime.api.redacted": "redacted",
    "psych_runtime.api.resume": "approve deny resume resume_all",
    "psych_runtime.api.runs": "runs",
    "psych_runtime.api.scoped": "scoped",
    "psych_runtime.api.send": "interrupt send",
    "psych_runtime.api.verify": "verify",
    "psych_runtime.api.views": "answer report state status thread",
    "psych_runtime.model.by_model": "ByModel",
    "psych_runtime.model.openai_compatible": "OpenAICompatibleClient",
    "psych_runtime.runtime": "Runtime",
    "psych_runtime.sessions": "DispatchOptions RuntimeOptions Session session",
    "psych_runtime.store": "open_store",
    "psych_runtime.tools.context": "ToolContext",
    "psych_runtime.tools.registry": "ToolRegistry",
    "psych_runtime.worker.worker": "Worker",
    "psych_runtime_core.errors": "AccessDenied PsychError RunAborted RunFailed SpecValidationError",
    "psych_runtime_core.ports.policy": "AllowAll Decision Policy",
    "psych_runtime_core.ports.queries": "RunQuery",
    "psych_runtime_core.records.facts": "QueueKind TerminalState",
    "psych_runtime_core.scope": "Scope",
    "psych_runtime_core.spec.agent": "AgentSpec",
    "psych_runtime_core.spec.http_tool": "HttpTool",
    "psych_runtime_core.spec.limits": "Limits",
    "psych_runtime_core.spec.model": "ModelRef",
    "psych_runtime_core.spec.policies": "SuspensionPolicy",
    "psych_runtime_core.spec.tools": "CodeTool",
    "psych_runtime_core.spec.validate.context": "ValidationContext",
    "psych_runtime_memory": "InMemoryStore",
}
_SPECS = {
    "psych_runtime_core.errors": "ValidationIssue Violation",
    "psych_runtime_core.ids": "VersionHash",
    "psych_runtime_core.jsonvalue": "FrozenDict FrozenList JsonObject JsonValue thaw",
    "psych_runtime_core.spec.base": "JsonSchema SpecModel",
    "psych_runtime_core.spec.document": "SPEC_ADAPTER Spec spec_json_schema",
    "psych_runtime_core.spec.grants": "narrow",
    "psych_runtime_core.spec.issues": "IssueCode issues_from",
    "psych_runtime_core.spec.names": "RESERVED_TOOL_NAMES",
    "psych_runtime_core.spec.validate.run": "collect_issues",
    "psych_runtime_core.version": "Version",
}
_RECORDS = {
    "psych_runtime_core.errors": "CorruptionReason",
    "psych_runtime_core.ids": "RunId ToolCallId WaitId WorkerId call_digest",
    "psych_runtime_core.records": "Record RecordModel",
    "psych_runtime_core.records.base": "FactModel",
    "psych_runtime_core.records.facts": "AnnouncedCall FailureKind ModelTimings OfferedTool"
    " ResultAttachment SuspendReason ToolFailure ToolOutcome",
    "psych_runtime_core.records.queue": "QueueConsumed QueueEnqueued",
    "psych_runtime_core.records.record": "RECORD_ADAPTER",
    "psych_runtime_core.records.run": "AbortRequested AttemptStarted RunAdmitted RunSettled",
    "psych_runtime_core.records.tool": "ToolCallFinished ToolCallStarted",
    "psych_runtime_core.records.turn": "ModelCallFailed ModelCallFinished ModelCallStarted TurnStarted",
    "psych_runtime_core.records.wait": "Resumed Suspended",
}
_VIEWS = {
    "psych_runtime.api.verify": "Verification",
    "psych_runtime_core.state.calls": "Approved CallState",
    "psych_runtime_core.state.lane": "LaneAnswer LanePhase LaneState Repeat Streak",
    "psych_runtime_core.state.meter": "Meter",
    "psych_runtime_core.state.queues": "QueueEntry",
    "psych_runtime_core.state.run": "Abort RunPhase RunStateView Settlement",
    "psych_runtime_core.state.waits": "Remembered Wait WaitAnswer",
    "psych_runtime_core.views.answer": "AnswerView ToolCallView WorkTurn",
    "psych_runtime_core.ports.runs": "Lifecycle RunState SETTLED_LIFECYCLE",
    "psych_runtime_core.views.report_model": "AbortReport AttemptReport FailureStreakTrip LaneReport"
    " LatencyReport ModelCallReport PromptReport QueueEntryReport RunReport SuspensionReport ToolCallReport"
    " TotalsReport",
    "psych_runtime_core.views.status": "PendingApproval RunStatus",
    "psych_runtime_core.views.thread": "MessageView ThreadView",
}
_TOOLS_AND_MODELS = {
    "psych_runtime.tools.flags": "ToolFlags",
    "psych_runtime.tools.output": "File ToolOutput",
    "psych_runtime.tools.tool_http": "ToolHttp",
    "psych_runtime.tools.problem": "Problem",
    "psych_runtime.tools.registered": "RegisteredTool",
    "psych_runtime_core.messages": "AssistantMessage AssistantPart FilePart FinishReason ImagePart Media"
    " Message MessageModel ModelSource OpaquePart Part ReasoningPart RefusalPart SystemMessage TextPart"
    " ToolCall ToolClass ToolDefinition ToolResultMessage UserMessage check_conversation",
    "psych_runtime.model.chat.dialects": "Dialect",
    "psych_runtime_core.ports.model": "EventStream MediaDelta ModelCallContext ModelCapabilities ModelClient"
    " ModelRequest OpaqueDelta ReasoningDelta RefusalDelta StreamDone TextDelta ToolCallDelta",
    "psych_runtime_core.usage": "Cost Usage",
}
_PRICES = {
    "psych_runtime.model.prices.genai": "DEFAULT_PRICES GenaiPrices",
    "psych_runtime.model.prices.table": "StaticPriceTable",
    "psych_runtime.model.prices.pricing": "compute_cost",
    "psych_runtime_core.ports.prices": "CostPolicy ModelPrice PriceResolver PriceTier",
}
_EGRESS = {
    "psych_runtime.egress.callers": "ClientSettings RequestSettings TransportClientSettings"
    " TransportRequestSettings",
    "psych_runtime.egress.connector": "Resolver",
    "psych_runtime.egress.credential": "CredentialBinding",
    "psych_runtime.egress.limits": "HttpTimeouts",
    "psych_runtime.egress.policy": "AllOf AllowAllEgress DenyAllEgress PublicOnly",
    "psych_runtime.egress.proxy": "ProxyConfig",
    "psych_runtime.egress.seam": "HeaderSource",
    "psych_runtime.egress.transport": "HttpTransport",
    "psych_runtime.secrets.in_memory": "InMemorySecretResolver",
    "psych_runtime_core.ports.egress": "EgressAudit EgressDecision EgressEvent EgressPolicy EgressPurpose"
    " EgressRequest",
    "psych_runtime_core.ports.secrets": "ResolvedCredential SecretResolver stable_credential_identity",
}
_PORTS = {
    "psych_runtime_core.clock": "Clock SystemClock",
    "psych_runtime_memory": "FilesystemBlobStore InMemoryBlobStore",
    "psych_runtime_core.ports.blob": "BlobKey BlobMetadata BlobStore blob_key clamp",
    "psych_runtime_core.ports.claims": "Claim ClaimFilter Claims Renewed",
    "psych_runtime_core.ports.kv": "KeyValue KvItem KvKey",
    "psych_runtime_core.ports.live": "LiveChannel LiveChunk NoLive",
    "psych_runtime_core.ports.queries": "Page",
    "psych_runtime_core.ports.reports": "MigrationReport StoreCheck StoreStats TenantStats",
    "psych_runtime_core.ports.runs": "NOW HeaderFacts Lease RunHeader",
    "psych_runtime_core.ports.sealed_blobs": "SealedBlobs",
    "psych_runtime_core.ports.store": "Store",
    "psych_runtime_core.ports.writes": "Admit Append HeaderAction HeaderChange",
    "psych_runtime_core.ports.watch": "Hint PollingWatch Watch",
    "psych_runtime_core.records": "MAX_BODY_BYTES MAX_COMMIT_BYTES Codec Entry Head PlainCodec",
}
_ERRORS = {
    "psych_runtime_core.errors": "BlobCorrupt BlobNotFound"
    " CallSource ConversationError CorruptLog CredentialNotFound DeadlineExceeded"
    " EntryTooLarge Failure IdempotencyConflict LeaseLost LogConflict MissingExtra ModelError ModelErrorKind"
    " NoFreeSlot NotMigrated QueueFull RecordTooNew RequestFailed ResponseTooLarge RunAlreadySettled"
    " RunEndedWithoutAnswer RunNotFound RunNotSuspended SchemaViolation SeqConflict StoreError StoreFull"
    " StoreMisconfigured StoreUnavailable SuspensionExpired ToolSchemaError TransientError UnknownStoreUrl"
    " VersionNotFound WaitAmbiguous WaitNotFound",
}

_FAMILIES = (_FRONT, _SPECS, _RECORDS, _VIEWS, _TOOLS_AND_MODELS, _PRICES, _EGRESS, _PORTS, _ERRORS)
_HOMES = {name: module for family in _FAMILIES for module, names in family.items() for name in names.split()}
__all__ = list(_HOMES)  # pyright: ignore[reportUnsupportedDunderAll]  # the stub lists them for checkers


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOMES[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted(name for names in _FRONT.values() for name in names.split())
