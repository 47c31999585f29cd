"""The command `manus`. Ctrl-C is seen to first of all, so almost nothing is imported up here."""

from __future__ import annotations

import os
import re
import signal
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    import click

_RUNS = ("run", "flow", "resume", "chat")
_OWN_OPTIONS = ("-h", "--help", "--version")
"""Options of the program itself; all others are those of a run."""
_OPTION_WITH_VALUE = re.compile("--[a-z-]+=")
_PR_SET_DUMPABLE = 4


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program and give its exit code; never raises what a user should not see."""
    end_at_signal()
    _prepare_streams()
    _hide_process()
    _close_import_path()
    given = list(sys.argv[1:] if arguments is None else arguments)
    code = 130
    try:
        code = _flushed(execute(given))
    except BrokenPipeError:
        # Whoever read stdout has gone: nothing is left to be said, also not by Python's exit.
        from manus.cli.screen import discard

        discard(sys.stdout)
        code = 1
    except KeyboardInterrupt:
        pass
    finally:
        end_at_signal()
        if _spelled(given)[0] in _RUNS:
            _discard_typed()
    return code


def end_at_signal() -> None:
    """Let Ctrl-C end the process at once, until a run takes it over to stop cleanly.

    An exception instead could come anywhere while modules are imported, and be lost there.
    """
    # What is ignored stays so: shells ask for it for what runs in the background.
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, lambda number, _: os._exit(128 + number))


def _close_import_path() -> None:
    """Take the folders out of the module path that a run may write to.

    `python -m manus` puts the current folder first, an editable install the checkout last. A module
    that a run makes there would be imported here, outside of the sandbox. The package's own modules
    are found by the package, which is loaded already.
    """
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120
    checkout = os.path.dirname(package)  # noqa: PTH120
    writable = {"", os.getcwd(), checkout}  # noqa: PTH109
    sys.path[:] = [path for path in sys.path if path not in writable or _is_installed(path)]


def _is_installed(path: str) -> bool:
    return path.startswith(f"{sys.prefix}{os.sep}") and path.endswith("-packages")


def _hide_process() -> None:
    """Have the kernel keep our memory and environment, with the keys in them, from other programs.

    Without it any program of the same user can read `/proc/<pid>/environ`. Programs that we start
    are not hidden: they begin with an environment of their own. On Linux only.
    """
    if sys.platform == "linux":
        import contextlib
        import ctypes

        with contextlib.suppress(OSError, AttributeError):  # a C library without it
            ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def execute(given: list[str]) -> int:
    """Do what the words say; what goes wrong is told in a sentence."""
    words = given
    try:
        from manus.cli.commands import program

        words = _spelled(given)
        code: int = program.main(words, "manus", standalone_mode=False)
        return code
    except BrokenPipeError:
        raise
    except Exception as error:  # noqa: BLE001 - the last resort: a sentence instead of a traceback
        return fail(words, error)


def _spelled(given: list[str]) -> list[str]:
    """Return the words with the command that is meant.

    No words, and options alone, are a conversation at a terminal; a sentence is a run.
    """
    if given[:1] == ["help"]:  # `help run` is taken for `run --help`
        return [*given[1:2], "--help"]
    if not given:
        return ["chat" if sys.stdin.isatty() and sys.stdout.isatty() else "--help"]
    if given[0] in _OWN_OPTIONS:
        return given
    is_option = given[0].startswith("-") and given[0] != "-"
    if _is_sentence(given[0]):
        return ["run", "--", *given] if is_option else ["run", *given]
    return _with_command_first(given) if is_option else given


def _with_command_first(given: list[str]) -> list[str]:
    """Return words that begin with options of a run as the command and what follows it."""
    import click

    from manus.cli.commands.run import run

    context = click.Context(run, allow_interspersed_args=False)
    try:
        options, _, _ = run.make_parser(context).parse_args(list(given))
    except click.UsageError:
        return ["chat", *given]  # which says what is wrong with the options
    words = options.get("prompt")
    if not isinstance(words, tuple) or not words:  # click has a marker of its own for none
        return ["chat", *given]
    if _is_sentence(words[0]):
        return ["run", *given]
    before = given[: len(given) - len(words)]
    return [words[0], *before, *words[1:]]


def _is_sentence(word: str) -> bool:
    return " " in word.strip() and not _OPTION_WITH_VALUE.match(word)


def fail(given: list[str], error: Exception) -> int:
    """Tell what went wrong; with `--json` as the outcome of a run too. The exit code."""
    import logging

    import click

    from manus.cli.output import ReportedError, print_json
    from manus.state.errors import ManusError, UsageError

    if isinstance(error, click.Abort):
        return 130
    is_reported = isinstance(error, ReportedError)
    cause = error.__cause__ if is_reported else error
    if isinstance(cause, click.UsageError):
        said = _wrong_usage(cause)
    else:
        said = str(cause) if isinstance(cause, ManusError) else _unexpected(cause)
    logging.getLogger("manus.cli.run").info("not done: %s", said)
    _tell(said)
    options = given[: given.index("--")] if "--" in given else given
    if given[:1] and given[0] in _RUNS and "--json" in options and not is_reported:
        from manus.graph.outcome import Outcome
        from manus.state.usage import no_usage

        print_json(Outcome("", "error", "error", False, said, [], no_usage()).as_json())
    return 2 if isinstance(cause, (UsageError, click.UsageError)) else 1


def _wrong_usage(error: click.UsageError) -> str:
    near = getattr(error, "possibilities", None)
    said = error.message if near else error.format_message()
    meant = f" (did you mean {near[0]}?)" if near else ""
    path = error.ctx.command_path if error.ctx else "manus"
    return f"{said.rstrip('.')}{meant}; `{path} --help` shows how it is used."


def _tell(sentence: str) -> None:
    from manus.cli.screen import Screen

    Screen().paragraph(f"manus: {sentence}", always=True)


def _unexpected(error: BaseException | None) -> str:
    import logging

    from manus.cli.logs import log_file, set_up_logging

    set_up_logging()
    logging.getLogger("manus.crash").info("unexpected error", exc_info=error)
    if os.environ.get("MANUS_DEBUG", "") not in ("", "0"):
        import traceback

        traceback.print_exception(error)
    place = log_file()
    kept = f"its traceback is in {place}" if place else "no log can be written"
    said = f"{type(error).__name__}: {error}".rstrip(": ")
    return f"Something unexpected went wrong ({said}); {kept} (MANUS_DEBUG=1 shows it)."


def _flushed(code: int) -> int:
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        from manus.cli.screen import discard, unwritable

        discard(sys.stdout)
        _tell(unwritable(error))
        return 1
    return code


def _discard_typed() -> None:
    """Drop what was typed or pasted and not read, lest the shell runs it."""
    try:
        if sys.stdin.isatty():
            import termios

            termios.tcflush(sys.stdin, termios.TCIFLUSH)
    except (OSError, ValueError, ImportError):  # closed, gone, or no terminal of this kind
        return


def _prepare_streams() -> None:
    """A stream that the caller has closed leads nowhere; what an encoding lacks is replaced."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # the lowest number that is free is its own
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode, encoding="utf-8"))
        if mode == "w" and hasattr(stream := getattr(sys, name), "reconfigure"):
            stream.reconfigure(errors="replace")
