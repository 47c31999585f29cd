"""The command `manus`. Nothing slow is imported before the command that needs it is known."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import NoReturn

from manus import __version__
from manus.commands import COMMANDS
from state.errors import ManusError, UsageError

DESCRIPTION = "A general agent: it thinks, acts and plans, step by step, until a task is done."
EPILOG = (
    "Exit codes: 0 finished with success, 1 not, 2 wrong usage or configuration, 130 after Ctrl-C."
)


class Parser(argparse.ArgumentParser):
    """Tells of wrong usage as of every other error: one sentence, exit code 2."""

    def error(self, message: str) -> NoReturn:
        """Raise a `UsageError`, which `main` tells."""
        raise UsageError(f"{message.rstrip('.')}; `{self.prog} --help` shows how it is used.")


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
            sub.set_defaults(execute=command.execute)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program and give its exit code; never raises what a user should not see."""
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
        args = parser.parse_args(arguments)
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


def _tell(sentence: str) -> None:
    from manus.screen import discard
    from manus.text import clean

    try:
        sys.stderr.write(f"manus: {clean(sentence)}\n")
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
    sys.stdout.flush()
    return code


def _left(code: int) -> int:
    """The code; but a tracing server that does not answer must not hold the process."""
    if (traces := sys.modules.get("manus.traces")) is not None:
        traces.leave_at_once(code)
    return code


def _survive_any_text() -> None:
    """A character that the terminal's encoding lacks is replaced, not an error."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")


if __name__ == "__main__":
    sys.exit(main())
