"""What a reply is written in, as it says itself, and the codec for it: only for charsets of text on the web.

Python has codecs that take hours over a few megabytes, or unpack what they are given. No server means them.
"""

from __future__ import annotations

import re
from encodings.aliases import aliases

MAX_CONTENT_TYPE = 1024
"""Of a longer one the parameters count for nothing."""

CODECS = frozenset(
    {
        "ascii",
        "latin_1",
        *("utf_8", "utf_8_sig", "utf_16", "utf_16_be", "utf_16_le", "utf_32", "utf_32_be", "utf_32_le"),
        *(f"iso8859_{part}" for part in (*range(2, 12), *range(13, 17))),
        *(f"cp{page}" for page in (*range(1250, 1259), 437, 850, 852, 866, 874, 932, 949, 950)),
        *("koi8_r", "koi8_u", "mac_cyrillic", "mac_roman", "tis_620"),
        *("big5", "big5hkscs", "euc_kr", "gb2312", "gb18030", "gbk"),
        *("euc_jp", "iso2022_jp", "shift_jis"),
    }
)
"""By the names of Python's modules. Each takes time in proportion to what it reads."""

_PARAMETER = re.compile(r';\s*([^\s;="]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;"]*))')
_SEPARATORS = re.compile(r"[^a-z0-9]+")


def charset_in(content_type: str) -> str | None:
    """The charset that a `Content-Type` states, whether there is one of that name or not."""
    if len(content_type) > MAX_CONTENT_TYPE:
        return None
    stated = (
        quoted or bare for name, quoted, bare in _PARAMETER.findall(content_type) if name.lower() == "charset"
    )
    return next(stated, None) or None


def codec_of(charset: str) -> str | None:
    """Python's name of the codec, None for a charset that text on the web does not have."""
    # As Python reads it: whatever stands between the letters and digits of a name, and around them.
    name = _SEPARATORS.sub("_", charset.lower()).strip("_")
    codec = aliases.get(name, name)
    return codec if codec in CODECS else None
