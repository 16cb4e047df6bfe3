"""What came with a reply and is no part of it: the next request on its connection would be answered by it."""

from __future__ import annotations

from operator import attrgetter
from typing import Any, cast

import h11
import httpcore2

# No public name leads there. Where a part is missing the connection is closed, and the tests of reuse fail.
_parser_of = attrgetter("stream._stream._connection._h11_state")


async def close_unless_clean(reply: httpcore2.Response) -> None:
    """Closes the connection of a reply that is done with, unless it certainly holds nothing more."""
    if _is_clean(reply):
        return
    stream: object = cast("Any", reply).extensions["network_stream"]
    assert isinstance(stream, httpcore2.AsyncNetworkStream)
    await stream.aclose()


def _is_clean(reply: httpcore2.Response) -> bool:
    try:
        parser = _parser_of(reply)
    except AttributeError:
        return False
    return isinstance(parser, h11.Connection) and not parser.trailing_data[0]
