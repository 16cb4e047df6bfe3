"""The command line, made of the table of verbs."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

from psych_runtime.cli.exits import MEANINGS, CommandError
from psych_runtime.cli.verbs import EVERYWHERE, GROUPS, OF_A_STORE, VERBS, Flag, Verb

DESCRIPTION = (
    "Starts projects, shows what the Runs of a store did, moves their logs, and looks after the store."
    " It executes no Run, and answers, steers and stops none."
)
EXIT_CODES = f"Exit codes of every verb: {'; '.join(f'{code} {said}' for code, said in MEANINGS.items())}."


class Parser(argparse.ArgumentParser):
    """An `ArgumentParser` that raises where argparse would print and exit, and colours nothing."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(allow_abbrev=False, **settings)
        self.color = False

    def error(self, message: str) -> NoReturn:
        raise CommandError(message, f"{self.prog} --help")


def parser() -> Parser:
    """The whole command line. `does` of what it parses is the `Verb` to do, None where none is named."""
    whole = Parser(prog="psych", description=DESCRIPTION, parents=[_flags_of_every_verb()], epilog=EXIT_CODES)
    whole.set_defaults(does=None)
    whole.add_argument("--version", action="store_true", help="print the version and end")
    verbs = whole.add_subparsers(metavar="VERB", title="verbs", parser_class=Parser)
    groups: dict[str, Any] = {}
    for verb in VERBS:
        group, _, name = verb.words.rpartition(" ")
        if group and group not in groups:
            groups[group] = _add_group(verbs, group)
        _add(groups.get(group, verbs), name, verb)
    return whole


def parsed(whole: Parser, arguments: Sequence[str]) -> argparse.Namespace:
    """What `arguments` say. Raises `CommandError`; what no verb takes names the help of its own verb."""
    options, rest = whole.parse_known_args(arguments)
    if rest:
        words = ["psych", *(options.does.words.split() if options.does else ())]
        raise CommandError(f"unrecognized arguments: {' '.join(rest)}", f"{' '.join(words)} --help")
    return options


def _add_group(verbs: Any, name: str) -> Any:
    common = _flags_of_every_verb(default=argparse.SUPPRESS)
    group = verbs.add_parser(name, help=GROUPS[name], description=GROUPS[name], parents=[common])
    return group.add_subparsers(metavar="VERB", title="verbs", parser_class=Parser, required=True)


def _add(verbs: Any, name: str, verb: Verb) -> None:
    # A flag that stands before the verb must outlive the defaults of the verb's own parser.
    common = _flags_of_every_verb(default=argparse.SUPPRESS)
    own = verbs.add_parser(name, help=verb.help, description=verb.help, parents=[common])
    own.set_defaults(does=verb)
    _fill(own, verb.flags)
    if verb.of_store:
        _fill(own.add_argument_group("flags of the store"), OF_A_STORE)


def _flags_of_every_verb(**settings: Any) -> Parser:
    flags = Parser(add_help=False)
    _fill(flags.add_argument_group("flags of every verb"), EVERYWHERE, **settings)
    return flags


def _fill(parser: Any, flags: Iterable[Flag], **settings: Any) -> None:
    for each in flags:
        parser.add_argument(each.name, **each.settings, **settings)
