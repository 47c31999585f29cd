"""The command `manus`. Nothing slow is imported before the command that needs it is known."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

from manus import __version__
from manus.commands import COMMANDS
from manus.state.errors import ManusError, UsageError

DESCRIPTION = "A general agent: it thinks, acts and plans, step by step, until a task is done."
EPILOG = (
    "Exit codes: 0 finished with success, 1 not, 2 wrong usage or configuration, 130 after Ctrl-C."
)


class Parser(argparse.ArgumentParser):
    """Tells of wrong usage as of every other error: one sentence, exit code 2."""

    def error(self, message: str) -> NoReturn:
        """Raise a `UsageError`, which `main` tells."""
        raise UsageError(f"{message.rstrip('.')}; `{self.prog} --help` shows how it is used.")

    def refuse(self, unknown: Sequence[str]) -> NoReturn:
        """Tell of arguments that the command does not know, and of an option that is like one."""
        name = unknown[0].partition("=")[0]
        meant = _like(name, self._option_string_actions) if name.startswith("-") else ""
        self.error(f"unrecognized arguments: {' '.join(unknown)}{meant}")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """As ever; but a command that is not there is answered with the one that was meant."""
        choices = action.choices
        if action.nargs == argparse.PARSER and choices is not None and value not in choices:
            self.error(f"There is no command `{value}`{_like(value, choices)}")
        super()._check_value(action, value)


def _like(word: str, known: Iterable[str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(word, list(known), n=1)
    return f" (did you mean {near[0]}?)" if near else ""


def build_parser() -> Parser:
    """The parser of all commands."""
    parser = Parser(prog="manus", description=DESCRIPTION, epilog=EPILOG, allow_abbrev=False)
    parser.add_argument("--version", action="version", version=f"manus {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    for name, command in COMMANDS.items():
        if command.is_available():
            summary = command.SUMMARY
            sub = commands.add_parser(
                name, help=summary, description=f"{summary}.", allow_abbrev=False
            )
            command.add_arguments(sub)
            sub.set_defaults(execute=command.execute, parser=sub)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program and give its exit code; never raises what a user should not see."""
    _open_what_is_closed()
    _survive_any_text()
    try:
        return _left(_flushed(_execute(arguments)))
    except BrokenPipeError:
        # Whoever read stdout has gone: nothing is left to be said, also not by Python's exit.
        from manus.screen import discard

        discard(sys.stdout)
        return 1
    except KeyboardInterrupt:
        return 130


def _execute(arguments: Sequence[str] | None) -> int:
    try:
        parser = build_parser()
        args, unknown = parser.parse_known_args(_spelled(arguments))
        if unknown:
            getattr(args, "parser", parser).refuse(unknown)
        if not hasattr(args, "execute"):
            parser.print_help()
            return 0
        code: int = args.execute(args)
        return code
    except ManusError as error:
        _tell(str(error))
        return 2 if isinstance(error, UsageError) else 1
    except BrokenPipeError:
        raise
    except Exception as error:  # noqa: BLE001 - the last resort: a sentence instead of a traceback
        return _tell_unexpected(error)


def _spelled(arguments: Sequence[str] | None) -> list[str]:
    """The arguments; `help` and `help run` are taken for `--help` and `run --help`."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    return [*given[1:2], "--help"] if given[:1] == ["help"] else given


def _tell(sentence: str) -> None:
    from manus.screen import columns_of, discard
    from manus.text import clean
    from manus.wrap import wrapped

    said = f"manus: {clean(sentence)}"
    try:
        said = wrapped(said, columns_of(sys.stderr)) if sys.stderr.isatty() else said
        sys.stderr.write(f"{said}\n")
        sys.stderr.flush()
    except OSError:
        discard(sys.stderr)


def _tell_unexpected(error: Exception) -> int:
    import logging

    from manus.logs import is_debug, log_file, set_up_logging

    set_up_logging()
    logging.getLogger("manus.crash").info("unexpected error", exc_info=error)
    if is_debug():
        import traceback

        traceback.print_exception(error)
    place = log_file()
    where = (
        f"its traceback is in {place} (MANUS_DEBUG=1 shows it)"
        if place
        else "MANUS_DEBUG=1 shows where"
    )
    said = f"{type(error).__name__}: {error}".rstrip(": ")
    _tell(f"Something unexpected went wrong ({said}); {where}.")
    return 1


def _flushed(code: int) -> int:
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        from manus.screen import discard, unwritable

        discard(sys.stdout)
        _tell(unwritable(error))
        return 1
    return code


def _left(code: int) -> int:
    """The code; but a tracing server that does not answer must not hold the process."""
    if (traces := sys.modules.get("manus.traces")) is not None:
        traces.leave_at_once(code)
    return code


def _open_what_is_closed() -> None:
    """Let a standard stream that the caller has closed lead nowhere.

    Else the next file that is opened, the threads' own among them, gets its number and what is
    printed.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest number that is free: this one
            mode = "w" if number else "r"
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8", closefd=False))


def _survive_any_text() -> None:
    """A character that the terminal's encoding lacks is replaced, not an error."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")


if __name__ == "__main__":
    sys.exit(main())
