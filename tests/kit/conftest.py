"""What tests of the command share."""

import asyncio

import pytest

from tests.kit.command import UNSET, Psych
from tests.kit.shop import Shop, open_shop


@pytest.fixture
def psych(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Psych:
    """The command, in this process and without settings from outside."""
    for name in UNSET:
        monkeypatch.delenv(name, raising=False)
    return Psych(capsys)


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Shop:
    """Runs to show. Nobody changes them."""
    return asyncio.run(open_shop(tmp_path_factory.mktemp("shop")))
