"""Every verb and its flags, as a table."""

from __future__ import annotations

from argparse import BooleanOptionalAction
from collections.abc import Mapping
from typing import Any, NamedTuple

from psych_runtime.cli.flags import label, moment, page_size, seconds


class Flag(NamedTuple):
    """A flag or a positional argument, as argparse takes it."""

    name: str
    settings: Mapping[str, Any]


class Verb(NamedTuple):
    """A verb of one or two words; the module that does it is called like them.

    `of_store`: it opens the store that is named.
    """

    words: str
    help: str
    flags: tuple[Flag, ...] = ()
    of_store: bool = True

    @property
    def module(self) -> str:
        return self.words.replace(" ", "_")


def flag(name: str, **settings: Any) -> Flag:
    return Flag(name, settings)


def switch(name: str, help_text: str) -> Flag:
    """A flag that is there or not."""
    return flag(name, action="store_true", help=help_text)


EVERYWHERE = (
    switch("--json", "print JSON"),
    switch("--no-color", "print no colours"),
    switch("--quiet", "print no hints and no progress"),
    switch("--debug", "show the traceback of an error"),
)

OF_A_STORE = (
    flag("--store", metavar="URL", help="the store; default: $PSYCH_STORE_URL"),
    flag(
        "--timeout",
        metavar="SECONDS",
        type=seconds,
        default=10.0,
        help="how long the store may take to answer at first; default: 10",
    ),
    flag("--codec", metavar="MODULE:NAME", help="what opens sealed logs; default: they print as sealed"),
)

_RUN = flag("run", metavar="RUN", help="the id of the Run")
_DEST = flag("--dest", metavar="DEST", default=".agents/skills", help="default: .agents/skills")


def _several(name: str, field: str, help_text: str, **settings: Any) -> Flag:
    return flag(name, dest=field, action="append", help=f"{help_text}; may be given again", **settings)


# The flags of `psych runs` are named by the conditions that they set.
QUERY: tuple[Flag, ...] = (
    flag("--tenant", metavar="TENANT", help="of this tenant"),
    flag("--principal", metavar="PRINCIPAL", help="for this principal"),
    flag(
        "--label", dest="labels", metavar="NAME=VALUE", type=label, action="append", help="with all of these"
    ),
    flag("--name", metavar="NAME", help="of an agent of this name"),
    flag("--version-hash", metavar="HASH", help="of this Version"),
    flag("--parent", dest="parent_run_id", metavar="RUN", help="children of this Run"),
    flag("--root", dest="root_run_id", metavar="RUN", help="the whole tree under this Run"),
    flag("--continues", dest="continues_run_id", metavar="RUN", help="that continue this Run"),
    flag("--idempotency-key", metavar="KEY", help="admitted under this key"),
    _several("--run", "run_ids", "of this id", metavar="RUN"),
    _several("--state", "states", "in this state", choices=("runnable", "running", "suspended", "settled")),
    _several(
        "--lifecycle",
        "lifecycles",
        "at this point of life",
        choices=("queued", "running", "waiting", "stopping", "done", "failed", "stopped"),
    ),
    _several(
        "--terminal",
        "terminals",
        "that ended so",
        choices=("completed", "failed", "aborted", "abandoned", "force_settled"),
    ),
    _several("--wait", "waits", "with an open Wait of this reason", choices=("approval",)),
    flag("--blobs", action=BooleanOptionalAction, default=None, help="with blobs, or without"),
    flag(
        "--since", dest="created_after", metavar="WHEN", type=moment, help="admitted then (2h, ISO) or later"
    ),
    flag("--until", dest="created_before", metavar="WHEN", type=moment, help="admitted before (2h, ISO)"),
    flag("--settled-before", metavar="WHEN", type=moment, help="ended before (2h, ISO)"),
    flag("--limit", metavar="COUNT", type=page_size, default=50, help="how many a page has; default: 50"),
)

GROUPS = {
    "skills": "what a coding agent must know of Psych",
    "log": "logs as files, and whether they are sound",
}

VERBS = (
    Verb(
        "new",
        "write a project that runs as it stands",
        (
            flag("name", metavar="NAME", help="the folder to make; its last part names the project"),
            flag(
                "--template",
                metavar="TEMPLATE",
                default="minimal",
                help="adapter: a store of your own; minimal: an agent; default: minimal",
            ),
            switch("--force", "overwrite the files that the template has"),
        ),
        of_store=False,
    ),
    Verb(
        "skills list", "list the skills that there are, and how they stand in DEST", (_DEST,), of_store=False
    ),
    Verb(
        "skills install",
        "write the skills into DEST, and keep what was edited there",
        (
            _DEST,
            switch("--force", "write over edited files, after moving each to NAME.bak"),
            switch("--check", "write nothing; end with 3 when something would be written"),
        ),
        of_store=False,
    ),
    Verb("doctor", "look whether all that is needed is here, and whether the store is well"),
    Verb(
        "runs",
        "list the Runs that match, newest first",
        (
            *QUERY,
            flag("--cursor", metavar="CURSOR", help="go on where a page ended, under equal conditions"),
            switch("--all", "go on to the end, page after page"),
        ),
    ),
    Verb(
        "show",
        "show what a Run said, did, waited for, answered and used",
        (
            _RUN,
            flag("--tenant", metavar="TENANT", help="show it only if it is this tenant's"),
            switch("--follow", "go on until the Run has ended"),
            switch("--records", "show the records of the log"),
            switch("--children", "list the Runs that it began"),
            switch("--exit-status", "end with 3 unless the Run has completed"),
        ),
    ),
    Verb(
        "log export",
        "write the log of a Run as a file",
        (
            _RUN,
            flag("-o", dest="output", metavar="FILE|DIR", help="where to; default: stdout"),
            switch("--children", "the Runs under it as well, one file each in DIR"),
            switch("--redact", "leave out each text, argument and result"),
        ),
    ),
    Verb(
        "log import",
        "store the Runs that were exported",
        (
            flag("files", metavar="FILE", nargs="+", help="a file that was exported"),
            switch("--dry-run", "say what would be done, and write nothing"),
        ),
    ),
    Verb(
        "log verify",
        "judge logs: their chain, what they fold to, and every rule of a log",
        (
            flag("logs", metavar="RUN|FILE", nargs="*", help="a Run of the store, or an exported file"),
            switch("--all", "every Run of the store"),
            flag("--tenant", metavar="TENANT", help="only those of this tenant"),
            flag("--since", metavar="WHEN", type=moment, help="with --all: admitted then (2h, ISO) or later"),
        ),
    ),
    Verb(
        "stats",
        "count the Runs that are open",
        (
            flag("--tenant", metavar="TENANT", help="only those of this tenant"),
            flag(
                "--by",
                choices=("tenant", "state"),
                help="only tenants with ready work, or counts by state",
            ),
        ),
    ),
    Verb(
        "migrate",
        "bring the schema of the store up to this release",
        (
            switch("--check", "change nothing; end with 3 when something is pending"),
            switch("--plan", "change nothing; list what is pending"),
            flag(
                "--phase",
                choices=("pre", "post"),
                default="pre",
                help="pre: before this release runs; post: once no older one does; default: pre",
            ),
        ),
    ),
)
