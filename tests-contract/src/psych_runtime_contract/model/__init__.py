"""The suite for model clients, and the corpus of replies as data."""

from __future__ import annotations

import pytest

from psych_runtime_contract.model.asked_rules import AskedRules
from psych_runtime_contract.model.cases import ABSENT, KEY, Call, Outcome, WireCase
from psych_runtime_contract.model.corpus_rules import CorpusRules
from psych_runtime_contract.model.lapse import Silence
from psych_runtime_contract.model.law_rules import LawRules
from psych_runtime_contract.model.socket_rules import SocketRules

__all__ = ["ABSENT", "KEY", "Call", "ModelClientContract", "Outcome", "Silence", "WireCase"]


@pytest.mark.anyio
class ModelClientContract(LawRules, SocketRules, AskedRules, CorpusRules):
    """Judges a model client: subclass it as `Test…`, say its `wire` and make a `client`."""
