"""The command line: verbs, flags and their help."""

from __future__ import annotations

import argparse
import math
from typing import Any, NoReturn

from psych_runtime.cli.exits import CommandError

DESCRIPTION = "Starts projects, and shows what the Runs of a store did. It executes no Run and changes none."


class Parser(argparse.ArgumentParser):
    """An `ArgumentParser` that raises where argparse would print and exit, and colours nothing."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(allow_abbrev=False, **settings)
        self.color = False

    def error(self, message: str) -> NoReturn:
        raise CommandError(message, f"{self.prog} --help")


def parser() -> Parser:
    """The whole command line. `verb` of what it parses names the module under `cli` that does the work."""
    whole = Parser(prog="psych", description=DESCRIPTION, parents=[_flags_of_every_verb(default=False)])
    whole.add_argument("--version", action="store_true", help="print the version and end")
    verbs = whole.add_subparsers(dest="verb", metavar="VERB", title="verbs", parser_class=Parser)
    # A flag that stands before the verb must outlive the defaults of the verb's own parser.
    common = _flags_of_every_verb(default=argparse.SUPPRESS)
    _add_new(verbs, common)
    _add_show(verbs, common)
    return whole


def _flags_of_every_verb(default: object) -> Parser:
    flags = Parser(add_help=False)
    group = flags.add_argument_group("flags of every verb")
    for name, help_text in (
        ("--json", "print JSON"),
        ("--no-color", "print no colours"),
        ("--quiet", "print no hints"),
        ("--debug", "show the traceback of an error"),
    ):
        group.add_argument(name, action="store_true", default=default, help=help_text)
    return flags


def _add_new(verbs: Any, common: Parser) -> None:
    help_text = "write a project that runs as it stands"
    new = verbs.add_parser("new", help=help_text, description=help_text, parents=[common])
    new.add_argument("name", metavar="NAME", help="the folder to make; its last part names the project")
    new.add_argument("--template", metavar="TEMPLATE", default="minimal", help="default: minimal")
    new.add_argument("--force", action="store_true", help="overwrite the files that the template has")


def _add_show(verbs: Any, common: Parser) -> None:
    help_text = "show what a Run said, did, waited for, answered and used"
    show = verbs.add_parser("show", help=help_text, description=help_text, parents=[common])
    show.add_argument("run", metavar="RUN", help="the id of the Run")
    show.add_argument("--store", metavar="URL", help="the store that holds it; default: $PSYCH_STORE_URL")
    show.add_argument(
        "--timeout",
        metavar="SECONDS",
        type=_seconds,
        default=10.0,
        help="how long the store may take to answer at first; default: 10",
    )
    show.add_argument("--tenant", metavar="TENANT", help="show it only if it is this tenant's")
    show.add_argument("--follow", action="store_true", help="go on until the Run has ended")
    show.add_argument("--records", action="store_true", help="show the records of the log")
    show.add_argument("--exit-status", action="store_true", help="end with 3 unless the Run has completed")


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds <= 86_400:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds from 0 to 86400")
    return seconds
