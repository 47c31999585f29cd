"""What a person is asked about a call, and what the model is told of the answer."""

from __future__ import annotations

from collections.abc import Sequence

CHANGES = "it may change something"
_SINCE = "after text from outside has been read"
NOT_WHAT_WAS_ASKED = (
    "Not executed: the person was asked about another call, or the page has changed since then. "
    "Call again if it is still needed: the person will be asked about that call."
)


NOTHING_TO_EDIT = (
    'The edit names no argument: write those to change as JSON, such as `edit {"path": "b.txt"}`.'
)


def subject(name: str, why: str, preview: str, problem: str = "") -> str:
    """Return what will happen and why a person is asked, without how to answer.

    `problem` says what was wrong with the answer before.
    """
    problem = f"{problem}\n\n" if problem else ""
    lines = "\n".join(f"  │ {_plain(line)}" for line in preview.split("\n"))
    return f"{problem}May it call `{_plain(name)}`? You are asked because {_plain(why)}.\n{lines}"


def question(about: str, rules: Sequence[str]) -> str:
    """Return the question as a terminal shows it: its subject, and how to answer in words."""
    calls = _plain(", ".join(rules))
    return (
        f"{about}\n"
        f"Answer `yes` (once), `run` or `always` (without asking again about {calls}, in this run "
        "or in this folder), `edit {…}` (with these arguments changed), or `no: REASON`."
    )


def no_answer(text: str) -> str:
    """Say that a person's text does not decide about the call."""
    return f"`{_plain(text[:80])}` is neither a yes nor a no."


def bad_edit(problem: str) -> str:
    """Say that the arguments of an edit cannot be read."""
    return f"The edit cannot be read: {problem}."


def other_tool(name: str, other: str) -> str:
    """Say that an edit keeps the tool of the call."""
    return f"An edit changes the arguments of `{_plain(name)}`; it cannot call `{_plain(other)}`."


def unknown_arguments(name: str, unknown: Sequence[str], known: Sequence[str]) -> str:
    """Say which arguments of an edit a tool does not have."""
    names = _plain(", ".join(unknown))
    return f"`{_plain(name)}` has no argument {names}; it takes: {', '.join(known)}."


def sends(hosts: Sequence[str]) -> str:
    """Why a person is asked about hosts."""
    return f"{_SINCE}, it may send something to {', '.join(hosts)}, which you have not named"


def held(host: str) -> str:
    """What a program is told that may not connect to a host."""
    return (
        f"{host} was held back: {_SINCE}, programs reach only hosts that the user has named. Make "
        f"the same call again to have the user asked; the rule `host({host})` in `[approve]` "
        "`allow` lets it through for good."
    )


def denied(rule: str) -> str:
    """What the model is told of a call that a rule forbids."""
    return f"Not executed: the person's settings deny it by the rule `{rule}`. Do without it."


def refused(reason: str) -> str:
    """What the model is told of a call that the person has refused."""
    said = f": {reason}" if reason else ""
    return f"Not executed: the person said no{said}. Do not try the same in another way."


def changed(args: str) -> str:
    """What the model is told of a call that was made with other arguments."""
    return f"[The person has changed the call; it was made with {args}]\n"


def _plain(text: str) -> str:
    """The text with signs made visible that would hide or reorder what stands beside them."""
    return "".join(
        c if c.isprintable() or c == "\t" else c.encode("unicode_escape").decode() for c in text
    )
