"""What pytest loads: its rewriting of `assert` in the suites, so that a failure shows both sides."""

import pytest

pytest.register_assert_rewrite(
    "psych_runtime_contract.egress", "psych_runtime_contract.model", "psych_runtime_contract.secrets"
)
