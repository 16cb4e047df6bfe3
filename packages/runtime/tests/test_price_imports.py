"""Prices cost nothing until they are asked for, and their package need not be there."""

from __future__ import annotations

import subprocess
import sys

import pytest

HIDE = """
import sys

sys.modules["genai_prices"] = None
"""
ASK = """
from datetime import UTC, datetime
from psych_runtime.model.prices.genai import DEFAULT_PRICES, GenaiPrices
AT = datetime(2026, 1, 2, tzinfo=UTC)
"""


def python(program: str) -> str:
    """What a fresh interpreter prints."""
    done = subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.strip()


@pytest.mark.parametrize(
    "statement",
    [
        pytest.param("import psych_runtime", id="the public module"),
        pytest.param("from psych_runtime import Runtime, Worker", id="a Runtime"),
        pytest.param("from psych_runtime.model.prices import genai, pricing, table", id="the prices"),
        pytest.param(
            "from psych_runtime.model.prices.genai import *; GenaiPrices(); DEFAULT_PRICES.catalog",
            id="prices made and named",
        ),
    ],
)
def test_an_import_loads_no_http_client_and_no_prices(statement: str) -> None:
    loaded = {
        name.partition(".")[0] for name in python(f"import sys; {statement}; print(*sys.modules)").split()
    }
    assert "psych_runtime" in loaded
    assert not loaded & {"httpx2", "httpcore2", "genai_prices"}


def test_the_first_look_up_loads_the_package_and_starts_nothing() -> None:
    program = f"""{ASK}
import sys, threading
from_package = GenaiPrices().price_for("gpt-4o", at=AT)
from genai_prices import data_snapshot
print(from_package.currency, threading.active_count(), data_snapshot._custom_snapshot)
"""
    assert python(program) == "USD 1 None"


@pytest.mark.parametrize(
    "made",
    [
        pytest.param("GenaiPrices()", id="as it is"),
        pytest.param("GenaiPrices(provider='openai')", id="of one provider"),
        pytest.param("GenaiPrices(overrides={'m': ModelPrice(1, 2)})", id="under prices of one's own"),
    ],
)
def test_prices_that_are_asked_for_without_their_package_are_refused_when_they_are_made(made: str) -> None:
    program = f"""{HIDE}{ASK}
from psych_runtime_core.ports.prices import ModelPrice
try:
    {made}
except ImportError as error:
    print(type(error).__name__, error)
"""
    said = python(program)
    assert said.startswith("MissingExtra ")
    others, _, ours = said.partition(" && ")
    assert others.endswith(": pip install --no-deps --require-hashes --requirement dist/locked-all.txt")
    assert ours.startswith("pip install --no-index --find-links dist 'psych-runtime[prices]==")


def test_a_package_that_is_broken_shows_itself() -> None:
    broken = HIDE.replace('"genai_prices"', '"genai_prices.data"')
    program = f"""{broken}{ASK}
try:
    DEFAULT_PRICES.price_for("gpt-4o", at=AT)
except ImportError as error:
    print(type(error).__name__, error.name)
"""
    assert python(program) == "ModuleNotFoundError genai_prices.data"


def test_by_default_nothing_is_known_without_the_package_and_nothing_is_said() -> None:
    program = f"{HIDE}{ASK}print(DEFAULT_PRICES.price_for('gpt-4o', at=AT), DEFAULT_PRICES.catalog)"
    assert python(program) == "None None"


def test_a_package_without_its_metadata_has_prices_and_no_name() -> None:
    program = f"""{ASK}
from importlib import metadata
from psych_runtime.model.prices import genai

def gone(name):
    raise metadata.PackageNotFoundError(name)

genai.version = gone
print(GenaiPrices().catalog, GenaiPrices().price_for("gpt-4o", at=AT).currency)
"""
    assert python(program) == "None USD"


def test_a_look_up_is_not_made_twice() -> None:
    program = f"""{ASK}
from psych_runtime.model.prices import genai_catalog
made, asked = [], []
init, claims = genai_catalog.GenaiCatalog.__init__, genai_catalog.GenaiCatalog._claimant

def counted(self, providers):
    made.append(1)
    init(self, providers)

def claimed(self, model):
    asked.append(model)
    return claims(self, model)

genai_catalog.GenaiCatalog.__init__, genai_catalog.GenaiCatalog._claimant = counted, claimed
prices = GenaiPrices()
for _ in range(100):
    prices.price_for("gpt-4o", at=AT)
prices.price_for("gpt-4o-mini", at=AT)
print(len(made), asked)
"""
    assert python(program) == "1 ['gpt-4o', 'gpt-4o-mini']"
