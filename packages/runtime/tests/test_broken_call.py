"""Whether a call that raised may have cost something, as far as its error tells."""

from __future__ import annotations

from typing import Any

import pytest

from psych_runtime.attempt.broken_call import BrokenCall, may_have_begun
from psych_runtime_core.errors import (
    AccessDenied,
    CredentialNotFound,
    ModelError,
    ModelErrorKind,
    RequestFailed,
    ResponseTooLarge,
)

TRANSIENT = ModelErrorKind.TRANSIENT


class Sdk(Exception):
    """What an SDK raises: its own attributes, of any kind."""

    def __init__(self, **told: Any) -> None:
        vars(self).update(told)


@pytest.mark.parametrize(
    ("error", "begun"),
    [
        pytest.param(ModelError(TRANSIENT, "x"), True, id="nothing is said"),
        pytest.param(ModelError(TRANSIENT, "x", status=200), True, id="a good status"),
        pytest.param(ModelError(TRANSIENT, "x", status=503), False, id="a status of the server"),
        pytest.param(ModelError(ModelErrorKind.AUTH, "x", status=401), False, id="a status of the client"),
        pytest.param(ModelError(TRANSIENT, "x", status=503, begun=True), True, id="a status in the answer"),
        pytest.param(ModelError(TRANSIENT, "x", begun=False), False, id="it says so"),
        pytest.param(Sdk(status_code=429), False, id="the status of an SDK"),
        pytest.param(Sdk(begun="no"), True, id="what is no answer to it"),
        pytest.param(RequestFailed("o", "connect", "d", sent=False), False, id="nothing was sent"),
        pytest.param(RequestFailed("o", "read", "d", sent=True), True, id="it was sent"),
        pytest.param(AccessDenied("o", "r"), False, id="denied"),
        pytest.param(CredentialNotFound(None, "n"), False, id="without a key"),
        pytest.param(ResponseTooLarge("o", 1), True, id="too large a reply"),
        pytest.param(KeyError("choices"), True, id="a bug in the client"),
    ],
)
def test_a_call_may_have_begun_unless_something_says_that_it_has_not(error: Exception, begun: bool) -> None:
    assert may_have_begun(error) is begun


def test_what_a_stranger_tells_of_a_price_counts_where_it_is_one() -> None:
    odd = Sdk(usage={"input": 1}, cost=0.5, served_model=7, service_tier="flex")
    assert BrokenCall.of(odd) == BrokenCall(None, None, None, "flex")
