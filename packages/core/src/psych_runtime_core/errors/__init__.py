"""Every error Psych raises.

Each holds what it knows as fields, and says what to do next.

    PsychError
    ├── SpecValidationError            ├── SchemaViolation (ValueError)
    ├── NotJson (ValueError)           ├── BadSchema (ValueError)
    ├── ToolSchemaError                ├── ModelError
    ├── TransientError                 ├── ConversationError
    │   └── RequestFailed              ├── ResponseTooLarge
    ├── AccessDenied                   ├── CredentialNotFound
    ├── CorruptLog                     │   └── LogConflict
    ├── RecordTooNew
    ├── UnknownStoreUrl (ValueError)   ├── MissingExtra (ModuleNotFoundError)
    ├── StoreError
    │   ├── SeqConflict                ├── LeaseLost
    │   ├── RunNotFound (KeyError)     ├── VersionNotFound (KeyError)
    │   ├── StoreUnavailable           │   └── StoreFull
    │   ├── NotMigrated                ├── StoreMisconfigured
    │   ├── BlobNotFound (KeyError)    ├── BlobCorrupt
    │   └── EntryTooLarge (ValueError)
    ├── RunEndedWithoutAnswer
    │   ├── RunFailed                  └── RunAborted › DeadlineExceeded
    └── RunNotSuspended  WaitNotFound  WaitAmbiguous  SuspensionExpired
        RunAlreadySettled  QueueFull  IdempotencyConflict  NoFreeSlot (RuntimeError)
"""

from psych_runtime_core.errors.base import (
    Loc,
    PsychError,
    pointer,
)
from psych_runtime_core.errors.documents import (
    BadSchema,
    NotJson,
    SchemaViolation,
    SpecValidationError,
    ToolSchemaError,
    ValidationIssue,
    Violation,
)
from psych_runtime_core.errors.logs import (
    CorruptionReason,
    CorruptLog,
    LogConflict,
    RecordTooNew,
)
from psych_runtime_core.errors.models import (
    CallSource,
    ConversationError,
    ModelError,
    ModelErrorKind,
)
from psych_runtime_core.errors.reach import (
    AccessDenied,
    CredentialNotFound,
    MissingExtra,
    Phase,
    RequestFailed,
    ResponseTooLarge,
    TransientError,
)
from psych_runtime_core.errors.runs import (
    DeadlineExceeded,
    Failure,
    IdempotencyConflict,
    NoFreeSlot,
    QueueFull,
    RunAborted,
    RunAlreadySettled,
    RunEndedWithoutAnswer,
    RunFailed,
    RunNotSuspended,
    SuspensionExpired,
    WaitAmbiguous,
    WaitNotFound,
)
from psych_runtime_core.errors.stores import (
    BlobCorrupt,
    BlobNotFound,
    EntryTooLarge,
    LeaseLost,
    NotMigrated,
    RunNotFound,
    SeqConflict,
    StoreError,
    StoreFull,
    StoreMisconfigured,
    StoreUnavailable,
    UnknownStoreUrl,
    VersionNotFound,
)

__all__ = [
    "AccessDenied",
    "BadSchema",
    "BlobCorrupt",
    "BlobNotFound",
    "CallSource",
    "ConversationError",
    "CorruptLog",
    "CorruptionReason",
    "CredentialNotFound",
    "DeadlineExceeded",
    "EntryTooLarge",
    "Failure",
    "IdempotencyConflict",
    "LeaseLost",
    "LogConflict",
    "Loc",
    "MissingExtra",
    "ModelError",
    "ModelErrorKind",
    "NoFreeSlot",
    "NotJson",
    "NotMigrated",
    "Phase",
    "PsychError",
    "QueueFull",
    "RecordTooNew",
    "RequestFailed",
    "ResponseTooLarge",
    "RunAborted",
    "RunAlreadySettled",
    "RunEndedWithoutAnswer",
    "RunFailed",
    "RunNotFound",
    "RunNotSuspended",
    "SchemaViolation",
    "SeqConflict",
    "SpecValidationError",
    "StoreError",
    "StoreFull",
    "StoreMisconfigured",
    "StoreUnavailable",
    "SuspensionExpired",
    "ToolSchemaError",
    "TransientError",
    "UnknownStoreUrl",
    "ValidationIssue",
    "VersionNotFound",
    "Violation",
    "WaitAmbiguous",
    "WaitNotFound",
    "pointer",
]
