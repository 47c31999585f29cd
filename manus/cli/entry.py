"""The command `manus`. It handles Ctrl-C before anything else, so it imports almost nothing."""

from __future__ import annotations

import os
import re
import signal
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


_OWN_OPTIONS = ("-h", "--help", "--version")
"""Options of `manus` itself; all others are options of a run."""
_OPTION_WITH_VALUE = re.compile("--[a-z-]+=")
_PR_SET_DUMPABLE = 4


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program and return its exit code; show errors as messages, not tracebacks."""
    end_at_signal()
    _prepare_streams()
    _hide_process()
    _close_import_path()
    _select_tracing()
    words = list(sys.argv[1:] if arguments is None else arguments)
    code = 130
    try:
        code = _flush_stdout(execute(words))
    except BrokenPipeError:
        # The reader of stdout has closed it: do not let Python complain about it at exit.
        from manus.cli.screen import discard

        discard(sys.stdout)
        code = 1
    except KeyboardInterrupt:
        pass
    finally:
        end_at_signal()
        from manus.cli.failure import RUN_COMMANDS

        if _with_command(words)[0] in RUN_COMMANDS:
            _discard_input()
    return code


def end_at_signal() -> None:
    """Let Ctrl-C exit immediately, until a run installs its own handler to stop cleanly.

    A KeyboardInterrupt could be raised, and lost, anywhere while modules are imported.
    """
    # Keep an ignored signal ignored: shells rely on that for background jobs.
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, lambda number, _: os._exit(128 + number))


def _close_import_path() -> None:
    """Remove folders that a run may write to from `sys.path`.

    `python -m manus` puts the current folder first, an editable install the checkout last. A module
    that a run creates there would be imported here, outside the sandbox. The modules of this
    package are still found, because the package itself is already loaded.
    """
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120
    checkout = os.path.dirname(package)  # noqa: PTH120
    writable = {"", os.getcwd(), checkout}  # noqa: PTH109
    sys.path[:] = [path for path in sys.path if path not in writable or _is_installed(path)]


def _select_tracing() -> None:
    """Let LangSmith's client send runs as OpenTelemetry spans to the address in MANUS_TRACING."""
    if address := os.environ.get("MANUS_TRACING"):
        os.environ.setdefault("OTEL_EXPORTER_OTLP_ENDPOINT", address)
        os.environ |= {"LANGSMITH_TRACING": "true", "LANGSMITH_TRACING_MODE": "otel"}


def _is_installed(path: str) -> bool:
    return path.startswith(f"{sys.prefix}{os.sep}") and path.endswith("-packages")


def _hide_process() -> None:
    """Make the kernel hide our memory and environment, with API keys, from other programs.

    Otherwise any program of the same user can read `/proc/<pid>/environ`. Child processes are not
    affected: they get a filtered environment. Linux only.
    """
    if sys.platform == "linux":
        import contextlib
        import ctypes

        with contextlib.suppress(OSError, AttributeError):  # no prctl in the C library
            ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def execute(arguments: list[str]) -> int:
    """Run the command that the words name; report an error as one sentence."""
    words = arguments
    try:
        from manus.cli.commands import program

        words = _with_command(arguments)
        code: int = program.main(words, "manus", standalone_mode=False)
        return code
    except BrokenPipeError:
        raise
    except Exception as error:  # noqa: BLE001 - the last resort: a sentence instead of a traceback
        from manus.cli.failure import fail

        return fail(words, error)


def _with_command(words: list[str]) -> list[str]:
    """Return the words with the implied command added.

    No words, or only options, mean `chat` at a terminal; a sentence means `run`.
    """
    if words[:1] == ["help"]:  # `manus help run` means `manus run --help`
        return [*words[1:2], "--help"]
    if not words:
        is_interactive = sys.stdin.isatty() and sys.stdout.isatty()
        return ["chat"] if is_interactive else ["--help"]
    if words[0] in _OWN_OPTIONS:
        return words
    is_option = words[0].startswith("-") and words[0] != "-"
    if _is_sentence(words[0]):
        return ["run", "--", *words] if is_option else ["run", *words]
    return _with_command_first(words) if is_option else words


def _with_command_first(words: list[str]) -> list[str]:
    """Move the command before the options of a run that precede it."""
    import click

    from manus.cli.commands.run import run

    context = click.Context(run, allow_interspersed_args=False)
    try:
        options, _, _ = run.make_parser(context).parse_args(list(words))
    except click.UsageError:
        return ["chat", *words]  # `chat` reports what is wrong with the options
    prompt = options.get("prompt")
    if not isinstance(prompt, tuple) or not prompt:  # click uses a sentinel for a missing argument
        return ["chat", *words]
    if _is_sentence(prompt[0]):
        return ["run", *words]
    before = words[: len(words) - len(prompt)]
    return [prompt[0], *before, *prompt[1:]]


def _is_sentence(word: str) -> bool:
    return " " in word.strip() and not _OPTION_WITH_VALUE.match(word)


def _flush_stdout(code: int) -> int:
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        from manus.cli.failure import print_error
        from manus.cli.screen import discard, unwritable

        discard(sys.stdout)
        print_error(unwritable(error))
        return 1
    return code


def _discard_input() -> None:
    """Drop unread terminal input, so that the shell does not run it."""
    try:
        if sys.stdin.isatty():
            import termios

            termios.tcflush(sys.stdin, termios.TCIFLUSH)
    except (OSError, ValueError, ImportError):  # closed, or not a terminal
        return


def _prepare_streams() -> None:
    """Replace closed standard streams with /dev/null, and unencodable characters with `?`."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # the lowest free descriptor is that of this stream
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode, encoding="utf-8"))
        if mode == "w" and hasattr(stream := getattr(sys, name), "reconfigure"):
            stream.reconfigure(errors="replace")
