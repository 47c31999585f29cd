"""Report an error of a command as one sentence."""

from __future__ import annotations

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
    cause = error.__cause__ if is_reported else error
    if isinstance(cause, click.UsageError):
        message = _usage_message(cause)
    else:
        message = str(cause) if isinstance(cause, ManusError) else _log_unexpected(cause)
    logging.getLogger("manus.cli.run").info("failed: %s", message)
    print_error(message)
    options = words[: words.index("--")] if "--" in words else words
    if words[:1] and words[0] in RUN_COMMANDS and "--json" in options and not is_reported:
        from manus.graph.outcome import Outcome
        from manus.state.usage import no_usage

        print_json(Outcome("", "error", "error", False, message, [], no_usage()).as_json())
    return 2 if isinstance(cause, (UsageError, click.UsageError)) else 1


def _usage_message(error: click.UsageError) -> str:
    suggestions = getattr(error, "possibilities", None)
    message = error.message if suggestions else error.format_message()
    hint = f" (did you mean {suggestions[0]}?)" if suggestions else ""
    path = error.ctx.command_path if error.ctx else "manus"
    return f"{message.rstrip('.')}{hint}; `{path} --help` shows the usage."


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
    log_path = log_file()
    log_hint = f"the traceback is in {log_path}" if log_path else "the log file cannot be written"
    reason = f"{type(error).__name__}: {error}".rstrip(": ")
    return f"Unexpected error ({reason}); {log_hint} (set MANUS_DEBUG=1 to print it)."
