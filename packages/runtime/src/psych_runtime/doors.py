"""A door imports an adapter's names, or says which extra brings the adapter."""

from collections.abc import Generator
from contextlib import contextmanager

from psych_runtime_core.errors import MissingExtra


@contextmanager
def door(package: str, extra: str) -> Generator[None]:
    """Turn the absence of `package` itself into `MissingExtra`. A driver that is broken shows itself."""
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name != package:
            raise
        raise MissingExtra(package, extra) from error
