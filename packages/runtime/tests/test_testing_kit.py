"""The testing kit loads lazily, and needs no test tool."""

from __future__ import annotations

import subprocess
import sys

import pytest

import psych_runtime.testing as kit


def python(program: str) -> list[str]:
    """What a fresh interpreter prints, as words."""
    done = subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_every_name_is_there_and_listed() -> None:
    assert dir(kit) == sorted(kit.__all__)
    assert all(getattr(kit, name).__name__ == name for name in kit.__all__)


def test_a_name_it_has_not_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = kit.nothing


def test_importing_the_kit_loads_none_of_its_modules() -> None:
    loaded = python("import sys, psych_runtime.testing; print(*sys.modules)")
    assert "psych_runtime.testing" in loaded
    assert not [name for name in loaded if name.startswith(("psych_runtime.testing.", "psych_runtime_core"))]


def test_the_kit_needs_no_test_tool() -> None:
    loaded = python("import sys; from psych_runtime.testing import *; print(*sys.modules)")
    assert "psych_runtime.testing.fake_model" in loaded
    assert not {"pytest", "hypothesis", "_pytest"}.intersection(loaded)
