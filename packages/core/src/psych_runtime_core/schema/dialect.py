"""A pattern means what ECMA-262 says. Where the engine would read it otherwise, it is put in other words."""

import re
from collections.abc import Mapping
from json import loads

# One character, by the halves that JSON spells it in.
_PAIR = r"\\u[dD][89abAB][0-9A-Fa-f]{2}\\u[dD][c-fC-F][0-9A-Fa-f]{2}"
# The end of a name is looked for no further than to the next escape: very many may be without one.
_ESCAPE = rf"{_PAIR}|\\(?:[pPu]\{{[^}}\\]*+\}}|u[0-9A-Fa-f]{{4}}|x[0-9A-Fa-f]{{2}}|c[A-Za-z]|.)"
_ATOM = rf"(?:{_ESCAPE}|[^\]\\])"
# A class without an end is as it is, and so is all behind it: it is looked for once.
_CLASS = rf"\[(?P<not>\^?)(?P<class>{_ATOM}*+)\]|\[.*+"
_PIECE = re.compile(rf"{_CLASS}|(?P<edge>\\[bB])|\\0(?!\d)|{_ESCAPE}", re.DOTALL)
_MEMBER = re.compile(rf"(?P<first>{_ATOM})-(?P<last>{_ATOM})|{_ATOM}", re.DOTALL)
_HALVES = re.compile(_PAIR)
_SETS = frozenset("dDsSwWpP")
# In a class the engine has classes too, and joins, meets and subtracts them.
_IN_A_CLASS: Mapping[str, str] = {
    **{literal: f"\\{literal}" for literal in "[&~-"},
    r"\b": r"\x08",
    r"\0": r"\x00",
}


def engines(pattern: str) -> str:
    """`pattern` in the words of the engine."""
    return _PIECE.sub(_put, pattern)


def _put(found: re.Match[str]) -> str:
    piece = found[0]
    if found["edge"] is not None:
        # To the engine every letter of Unicode is one of a word, though `\w` is put as ASCII.
        return f"(?-u:{piece})"
    if found["class"] is not None:
        return _class(found["not"], found["class"])
    return r"\x00" if piece == r"\0" else _whole(piece)


def _class(negated: str, held: str) -> str:
    if not held:
        return r"[\s\S]" if negated else r"[^\s\S]"
    return f"[{negated}{_MEMBER.sub(_member, held)}]"


def _member(found: re.Match[str]) -> str:
    first, last = found["first"], found["last"]
    if first is None:
        return _literal(found[0])
    # Where there can be no range, a hyphen is itself.
    hyphen = r"\-" if _is_set(first) or _is_set(last) else "-"
    return _literal(first) + hyphen + _literal(last)


def _literal(atom: str) -> str:
    return _IN_A_CLASS.get(atom) or _whole(atom)


def _whole(atom: str) -> str:
    return str(loads(f'"{atom}"')) if _HALVES.fullmatch(atom) else atom


def _is_set(atom: str) -> bool:
    return atom[0] == "\\" and atom[1] in _SETS
