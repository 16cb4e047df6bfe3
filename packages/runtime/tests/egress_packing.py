"""Bodies packed in each content coding."""

from __future__ import annotations

import gzip
import importlib
import zlib
from collections.abc import Callable
from typing import Any

from backports import zstd

brotli: Any = importlib.import_module("brotli")


def br(data: bytes) -> bytes:
    packed: bytes = brotli.compress(data, quality=1)
    return packed


PACK: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": br,
    "zstd": zstd.compress,
}
