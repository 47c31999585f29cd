"""Print the outcome of a run, as text or JSON."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from manus.cli.screen import CALL, Screen, build_console, discard, print_whole, unwritable
from manus.prompts.formatting import clean
from manus.state.endings import get_ending
from manus.state.errors import ManusError

if TYPE_CHECKING:
    from manus.graph.outcome import Outcome

STOPPED_IN_CHAT = "Stopped. Say how to go on, or press Enter to leave it."

EVENTS_VERSION = 1
"""Version of the lines of `--output-format jsonl`; it changes if a field changes or goes."""

_GAP = re.compile(r"\n(?:(?:\x1b\[[\d;]*m|[ ])*\n){2,}")
"""Blank lines; rich adds several around lists, tables and code."""

_STYLES = {
    "markdown.code": f"bold {CALL}",
    "markdown.table.header": "bold",
    "markdown.table.border": "dim",
}
"""Replacements for rich's cyan on black, which is unreadable on white."""


class ReportedError(ManusError):
    """Raised when a run fails after its outcome has been printed."""


def print_output(text: str) -> None:
    """Print text on stdout; on a terminal it is wrapped between words."""
    if text.strip():
        _print(clean(text).rstrip("\n"), markdown=False)


def print_outcome(outcome: Outcome) -> None:
    """Print a run's answer on stdout: Markdown, rendered on a terminal.

    Questions are printed as plain text.
    """
    if outcome.output.strip():
        _print(clean(outcome.output).rstrip("\n"), markdown=not outcome.questions)


def _print(text: str, *, markdown: bool) -> None:
    if not sys.stdout.isatty():
        _write(text + "\n")
        return
    from rich.markdown import Markdown
    from rich.text import Text
    from rich.theme import Theme

    content: Markdown | Text = Text(text)
    if markdown and not os.environ.get("NO_COLOR"):
        content = Markdown(text, hyperlinks=False, code_theme="ansi_dark")
        for token in content.parsed:  # keep single line breaks
            for inner in token.children or ():
                if inner.type == "softbreak":
                    inner.type = "hardbreak"
    console = build_console(sys.stdout)
    console.push_theme(Theme(_STYLES))
    with console.capture() as capture:
        print_whole(console, content)
    lines = "".join(f"{line.rstrip()}\n" for line in capture.get().splitlines())
    _write(_GAP.sub("\n\n", lines) if markdown else lines)


def print_json(data: Any) -> None:
    """Print a value as one line of ASCII JSON on stdout, safe in any encoding."""
    _write(json.dumps(data, default=str) + "\n")


def describe_stream(thread_id: str, workspace: str) -> dict[str, Any]:
    """Return the first line of a stream of events, which names its version."""
    return {
        "type": "start",
        "version": EVENTS_VERSION,
        "thread_id": thread_id,
        "workspace": workspace,
    }


def write_answer(file: Path, text: str) -> None:
    """Write an answer to a file.

    Raises:
        ManusError: the file cannot be written.
    """
    try:
        file.write_text(f"{text}\n", "utf-8", "replace")
    except OSError as error:
        raise ManusError(
            f"Cannot write the answer to {file} ({error.strerror}); the run is stored: "
            "`manus show -c` prints it."
        ) from None


def _write(text: str) -> None:
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        discard(sys.stdout)
        raise ManusError(unwritable(error)) from None


def print_summary(outcome: Outcome, screen: Screen, took: str, workspace: str) -> None:
    """Print what a run used and how to resume it, on stderr."""
    screen.paragraph(f"{headline(outcome)}: {took}", "bold")
    if refused := refused_lines(outcome):
        screen.paragraph(refused, always=True)
    screen.paragraph(f"Thread {outcome.thread_id}, files in {workspace}", "dim")
    if hint := resume_hint(outcome):
        screen.paragraph(hint, always=True)
    elif screen.is_terminal:
        screen.paragraph(f"Report: {program()} report {shlex.quote(outcome.thread_id)}", "dim")


def refused_lines(outcome: Outcome) -> str:
    """Return the list of calls refused without a question; empty if there are none."""
    if not outcome.unasked:
        return ""
    lines = [f"- {refusal['call']} ({refusal['reason']})" for refusal in outcome.unasked]
    return "Refused without asking (--approve refuse):\n" + "\n".join(lines)


def headline(outcome: Outcome) -> str:
    """Return the state of a run in a few words."""
    if outcome.waits_for_model:
        return "Interrupted"
    return get_ending(outcome.stop_reason, success=outcome.success).headline


def program() -> str:
    """Return the command for this program: its path, if the shell would not find `manus`."""
    from shutil import which

    command = sys.argv[0]
    if os.path.basename(command) != "manus" or which("manus") == os.path.abspath(command):  # noqa: PTH100, PTH119
        return "manus"
    return shlex.quote(command)


def resume_hint(outcome: Outcome) -> str:
    """Return the command that resumes an unfinished run; empty for a finished one."""
    thread = shlex.quote(outcome.thread_id)
    manus = program()
    if outcome.asks_person:
        return f"Answer with: {manus} resume {thread}{' --answer TEXT' * len(outcome.questions)}"
    if not outcome.can_resume:
        return ""
    options = " --budget KIND=LIMIT" if outcome.stop_reason == "budget" else ""
    return f"Resume with: {manus} resume {thread}{options}"


def hint_in_chat(outcome: Outcome) -> str:
    """Return the same hint for a conversation."""
    if outcome.asks_person:
        return "Your next message is the answer."
    return "/resume continues it." if resume_hint(outcome) else ""
