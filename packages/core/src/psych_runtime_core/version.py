"""A Version: a Spec under the hash of its one canonical form."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from types import MappingProxyType
from typing import Any, Self, cast

from pydantic import AwareDatetime, BaseModel, Field, ValidationError

from psych_runtime_core.errors import NotJson, SpecValidationError, ValidationIssue, pointer
from psych_runtime_core.ids import VersionHash
from psych_runtime_core.jsonvalue import decode_json, encode_json, freeze, json_equal
from psych_runtime_core.spec.base import SpecModel
from psych_runtime_core.spec.document import Spec, read_spec
from psych_runtime_core.spec.issues import IssueCode, issues_from

FORMAT = 1
MAX_SPEC_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Version:
    """A Spec and its hash, which is checked whenever a Version is made.

    `published_at` is stamped by the store that keeps it first and is no part of the hash. Another hash than
    the Spec's raises `SpecValidationError`, a naive instant `ValueError`.
    """

    hash: VersionHash
    spec: Spec
    published_at: datetime | None = None

    def __post_init__(self) -> None:
        if self.published_at is not None and self.published_at.tzinfo is None:
            raise ValueError("published_at must be aware; give it a timezone")
        if not self.verify():
            reason = f"{self.hash!r} is not the hash of this Spec, which is {compute_hash(self.spec)}"
            raise _wrong(IssueCode.HASH_MISMATCH, "/hash", reason)

    @classmethod
    def of(cls, spec: Spec) -> Self:
        """The unpublished Version of `spec`."""
        return cls(compute_hash(spec), spec)

    @property
    def name(self) -> str:
        return self.spec.name

    def verify(self) -> bool:
        """Whether the hash is the Spec's under the scheme that the hash names."""
        scheme = SCHEMES.get(self.hash.partition(":")[0])
        return scheme is not None and scheme.hash(self.spec) == self.hash

    def encode(self) -> bytes:
        """What a store keeps."""
        return encode_json(self._envelope(defaults=False))

    @classmethod
    def decode(cls, body: bytes) -> Self:
        """The Version that `encode` wrote. Raises `SpecValidationError` for anything else."""
        envelope = _Envelope.read(body)
        if envelope.hash is None:
            raise _wrong(IssueCode.MISSING, "/hash", "must be given")
        return cls(VersionHash(envelope.hash), envelope.spec, envelope.published_at)

    def export_json(self, *, defaults: bool = False) -> str:
        """The Version as text for people; with `defaults` it states every field."""
        plain = decode_json(encode_json(self._envelope(defaults=defaults)))
        return json.dumps(plain, ensure_ascii=False, sort_keys=True, indent=2) + "\n"

    @classmethod
    def import_json(cls, document: str | bytes) -> Self:
        """The Version that `export_json` wrote; its hash may be left out. Raises `SpecValidationError`."""
        envelope = _Envelope.read(document)
        version_hash = envelope.hash or compute_hash(envelope.spec)
        return cls(VersionHash(version_hash), envelope.spec, envelope.published_at)

    def _envelope(self, *, defaults: bool) -> dict[str, Any]:
        at = self.published_at
        return {
            "format": FORMAT,
            "hash": self.hash,
            "published_at": at and at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            "spec": _document(self.spec, defaults=defaults),
        }


class _Envelope(SpecModel):
    """A Version as a document, before its hash is looked at."""

    format: int = Field(ge=FORMAT, le=FORMAT)
    hash: str | None = None
    published_at: AwareDatetime | None = Field(default=None, strict=False)
    spec: Spec

    @classmethod
    def read(cls, document: str | bytes) -> Self:
        try:
            return cls.model_validate(decode_json(document, unique_keys=True))
        except ValidationError as error:
            raise SpecValidationError(issues_from(error)) from None
        except ValueError as error:
            raise _wrong(IssueCode.BAD_SYNTAX, "", str(error)) from None


def checked(spec: Spec) -> Version:
    """The Version of `spec`, whose canonical form was read back and is that of an equal Spec.

    Raises `SpecValidationError` for one that was made or changed around validation, or is over 4 MiB.
    """
    try:
        body = _written(_document(spec))
    except NotJson as error:
        raise _wrong(IssueCode(error.code), pointer(error.loc), error.reason) from None
    if len(body) > MAX_SPEC_BYTES:
        raise _wrong(IssueCode.TOO_LARGE, "", f"has {len(body):,} bytes, the limit is {MAX_SPEC_BYTES:,}")
    version = Version.of(read_spec(decode_json(body)))
    if canonical_bytes(version.spec) != body:
        reason = "the Spec was changed around its validation; build it anew from its fields"
        raise _wrong(IssueCode.HASH_MISMATCH, "", reason)
    return version


def _written(document: dict[str, Any]) -> bytes:
    try:
        return encode_json(document)
    except (TypeError, ValueError):
        freeze(document)  # which knows the place
        raise


def _wrong(code: IssueCode, path: str, reason: str) -> SpecValidationError:
    return SpecValidationError([ValidationIssue(code, path, reason)])


# --- the canonical form ----------------------------------------------------------------------------------


def canonical_bytes(spec: Spec) -> bytes:
    """Form 1: the canonical JSON of `spec` without the fields that equal their defaults."""
    return encode_json(_document(spec))


def compute_hash(spec: Spec) -> VersionHash:
    """The hash of `spec` under the newest scheme."""
    return SCHEMES[NEWEST].hash(spec)


@dataclass(frozen=True, slots=True)
class Scheme:
    """A way to hash a Spec that never changes: the prefix it is known by, a form, a digest in hex."""

    prefix: str
    form: Callable[[Spec], bytes]
    digest: Callable[[bytes], str]

    def hash(self, spec: Spec) -> VersionHash:
        return VersionHash(f"{self.prefix}:{self.digest(self.form(spec))}")


def _sha256(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()


NEWEST = "sha256"
SCHEMES: Mapping[str, Scheme] = MappingProxyType({NEWEST: Scheme(NEWEST, canonical_bytes, _sha256)})


@dataclass(frozen=True, slots=True)
class _Field:
    """How a field is written: even at its default, or only when it says something else."""

    name: str
    always: bool
    default: Any


@cache
def _fields(cls: type[BaseModel]) -> tuple[_Field, ...]:
    return tuple(
        _Field(
            name,
            always=field.is_required() or name == "kind",
            default=None if field.is_required() else _plain(field.get_default(call_default_factory=True)),
        )
        for name, field in cls.model_fields.items()
    )


def _document(model: BaseModel, *, defaults: bool = False) -> dict[str, Any]:
    """`model` as a JSON object. A field that a model made around validation lacks is left out."""
    held = {name: _plain(value, defaults=defaults) for name, value in model.__dict__.items()}
    return {
        field.name: held[field.name]
        for field in _fields(type(model))
        if field.name in held
        and (defaults or field.always or not json_equal(held[field.name], field.default))
    }


def _plain(value: Any, *, defaults: bool = False) -> Any:
    if isinstance(value, BaseModel):
        return _document(value, defaults=defaults)
    if isinstance(value, tuple):
        return [_plain(item, defaults=defaults) for item in cast("tuple[object, ...]", value)]
    return value
