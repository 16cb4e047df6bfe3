"""The `psych` command. It executes no Run, and never answers, steers or stops one."""

from __future__ import annotations

import os
import sys
import traceback
from argparse import Namespace
from collections.abc import Sequence
from importlib import import_module

from psych_runtime.cli.exits import Exit, verdict_of
from psych_runtime.cli.output import (
    Output,
    coloured,
    prepare_streams,
    silence_stdout,
    visible,
    without_passwords,
)
from psych_runtime.cli.parser import parsed, parser


def main(argv: Sequence[str] | None = None) -> int:
    """Do what the command line says and return the exit code. `argv` is without the program's name."""
    prepare_streams()
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        return _judged(arguments)
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    except BrokenPipeError:
        silence_stdout()
        return Exit.PIPE_CLOSED


def _judged(arguments: Sequence[str]) -> int:
    try:
        try:
            return _obey(arguments)
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        raise
    except Exception as error:
        if isinstance(error, OSError):
            # It may be stdout's own: what stays in its buffer would fail once more at the interpreter's end.
            silence_stdout()
        if "--debug" in arguments:
            print(without_passwords(visible(traceback.format_exc())), file=sys.stderr)
        verdict = verdict_of(error)
        Output(json="--json" in arguments).error(verdict)
        return verdict.code


def _obey(arguments: Sequence[str]) -> int:
    whole = parser()
    try:
        options = parsed(whole, arguments)
    except SystemExit:
        return Exit.DONE
    if options.version:
        from importlib.metadata import version

        print(f"psych {version('psych-runtime')}")
        return Exit.DONE
    if options.does is None:
        whole.print_help()
        return Exit.DONE
    verb = import_module(f"psych_runtime.cli.{options.does.module}")
    code: Exit = verb.run(options, _output_of(options))
    return code


def _output_of(options: Namespace) -> Output:
    forbidden = options.no_color or options.json
    colour = coloured(os.environ, forbidden=forbidden, terminal=sys.stdout.isatty())
    return Output(json=options.json, colour=colour, quiet=options.quiet)
