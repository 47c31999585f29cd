"""What came of a run, told to a person or to a program."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from typing import TYPE_CHECKING, Any

from manus.cli.screen import CALL, Screen, console_of, discard, print_whole, unwritable
from manus.prompts.formatting import clean, ending_of
from manus.state.errors import ManusError

if TYPE_CHECKING:
    from manus.graph.outcome import Outcome

_GAP = re.compile(r"\n(?:(?:\x1b\[[\d;]*m|[ ])*\n){2,}")
"""Empty lines: rich puts some around a list, and more around a table or a program."""

_STYLES = {
    "markdown.code": f"bold {CALL}",
    "markdown.table.header": "bold",
    "markdown.table.border": "dim",
}
"""What rich writes in cyan on black, which is unreadable on white."""


class ReportedError(ManusError):
    """A run broke off, and its outcome has been printed."""


def print_output(text: str) -> None:
    """Text to stdout, fit for a terminal: there, it is broken between words."""
    if text.strip():
        _print(clean(text).rstrip("\n"), markdown=False)


def print_outcome(outcome: Outcome) -> None:
    """What a run found to stdout: Markdown, drawn on a terminal and as it is elsewhere.

    A question that it waits with is no Markdown.
    """
    if outcome.output.strip():
        _print(clean(outcome.output).rstrip("\n"), markdown=not outcome.questions)


def _print(text: str, *, markdown: bool) -> None:
    if not sys.stdout.isatty():
        _put(text + "\n")
        return
    from rich.markdown import Markdown
    from rich.text import Text
    from rich.theme import Theme

    shown: Markdown | Text = Text(text)
    if markdown and not os.environ.get("NO_COLOR"):
        shown = Markdown(text, hyperlinks=False, code_theme="ansi_dark")
        for token in shown.parsed:  # who writes a line break means one
            for inner in token.children or ():
                inner.type = "hardbreak" if inner.type == "softbreak" else inner.type
    console = console_of(sys.stdout)
    console.push_theme(Theme(_STYLES))
    with console.capture() as drawn:
        print_whole(console, shown)
    lines = "".join(f"{line.rstrip()}\n" for line in drawn.get().splitlines())
    _put(_GAP.sub("\n\n", lines) if markdown else lines)


def print_json(data: Any) -> None:
    """One JSON value on one line of stdout; ASCII alone, so that no encoding can spoil it."""
    _put(json.dumps(data, default=str) + "\n")


def _put(text: str) -> None:
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        discard(sys.stdout)
        raise ManusError(unwritable(error)) from None


def print_summary(outcome: Outcome, screen: Screen, took: str, workspace: str) -> None:
    """What a run took and how it goes on, on stderr."""
    screen.paragraph(f"{headline(outcome)}: {took}", "bold")
    if refused := refused_lines(outcome):
        screen.paragraph(refused, always=True)
    screen.paragraph(f"Thread {outcome.thread_id}, files in {workspace}", "dim")
    if hint := how_to_go_on(outcome):
        screen.paragraph(hint, always=True)
    elif screen.is_terminal:
        screen.paragraph(f"Look at it: {program()} report {shlex.quote(outcome.thread_id)}", "dim")


def refused_lines(outcome: Outcome) -> str:
    """Return the list of what was refused without a question; empty if nothing was."""
    if not outcome.unasked:
        return ""
    lines = [f"- {one['call']} ({one['reason']})" for one in outcome.unasked]
    return "Refused without a question (--approve refuse):\n" + "\n".join(lines)


def headline(outcome: Outcome) -> str:
    """The state of a run in a few words."""
    if outcome.waits_for_model:
        return "Interrupted"
    return ending_of(outcome.stop_reason, success=outcome.success).headline


def program() -> str:
    """What to type for this program here: its path, where the shell would not find its name."""
    from shutil import which

    typed = sys.argv[0]
    if os.path.basename(typed) != "manus" or which("manus") == os.path.abspath(typed):  # noqa: PTH100, PTH119
        return "manus"
    return shlex.quote(typed)


def how_to_go_on(outcome: Outcome) -> str:
    """The command that goes on with a run that did not finish; empty for one that did."""
    thread = shlex.quote(outcome.thread_id)
    manus = program()
    if outcome.asks_person:
        return f"Answer with: {manus} resume {thread}{' --answer TEXT' * len(outcome.questions)}"
    if outcome.stop_reason in ("terminated", "answered", "completed"):
        return ""
    more = " --budget KIND=LIMIT" if outcome.stop_reason == "budget" else ""
    return f"Go on with: {manus} resume {thread}{more}"


def hint_in_chat(outcome: Outcome) -> str:
    """The same for a conversation."""
    if outcome.asks_person:
        return "What you say next is the answer."
    return "/resume goes on with it." if how_to_go_on(outcome) else ""
