"""Report an error of a command as one sentence."""

from __future__ import annotations

import itertools
import os

import click

RUN_COMMANDS = ("run", "flow", "resume", "chat")


def fail(words: list[str], error: Exception) -> int:
    """Report an error on stderr, for a run with `--json` also on stdout; return the exit code."""
    import logging

    from manus.cli.output import ReportedError, print_json
    from manus.state.errors import ManusError, UsageError

    if isinstance(error, click.Abort):
        return 130
    is_reported = isinstance(error, ReportedError)
    cause: BaseException | None = error
    if is_reported:
        cause = error.__cause__
    if isinstance(cause, click.UsageError):
        message = _usage_message(cause)
    elif isinstance(cause, ManusError):
        message = str(cause)
    else:
        message = _log_unexpected(cause)
    logging.getLogger("manus.cli.run").info("failed: %s", message)
    print_error(message)
    if _wants_json(words) and not is_reported:
        from manus.graph.outcome import Outcome
        from manus.state.usage import no_usage

        print_json(Outcome("", "error", "error", False, message, [], no_usage()).as_json())
    is_usage = isinstance(cause, UsageError | click.UsageError)
    return 2 if is_usage else 1


def _wants_json(words: list[str]) -> bool:
    """Return whether the arguments are those of a run with `--json`, before any `--`."""
    if not words or words[0] not in RUN_COMMANDS:
        return False
    options = itertools.takewhile(lambda word: word != "--", words)
    return "--json" in options


def _usage_message(error: click.UsageError) -> str:
    message = error.format_message().rstrip(".")
    suggestions = getattr(error, "possibilities", None)
    if suggestions:
        message = f"{error.message.rstrip('.')} (did you mean {suggestions[0]}?)"
    command = "manus"
    if error.ctx is not None:
        command = error.ctx.command_path
    return f"{message}; `{command} --help` shows the usage."


def print_error(sentence: str) -> None:
    """Print a sentence on stderr, after the name of the program."""
    from manus.cli.screen import Screen

    Screen().paragraph(f"manus: {sentence}", always=True)


def _log_unexpected(error: BaseException | None) -> str:
    import logging

    from manus.cli.logs import log_file, set_up_logging

    set_up_logging()
    logging.getLogger("manus.crash").info("unexpected error", exc_info=error)
    if os.environ.get("MANUS_DEBUG", "") not in ("", "0"):
        import traceback

        traceback.print_exception(error)
    log_hint = "the log file cannot be written"
    log_path = log_file()
    if log_path:
        log_hint = f"the traceback is in {log_path}"
    reason = f"{type(error).__name__}: {error}".rstrip(": ")
    return f"Unexpected error ({reason}); {log_hint} (set MANUS_DEBUG=1 to print it)."
