"""What a person is asked about a call, and what the model is told of the answer."""

from __future__ import annotations

from collections.abc import Sequence

from manus.prompts.visible import host_name, visible

_LONG_PREVIEW = 1_500
_MANY_LINES = 20
"""Characters and lines of a preview after which the reason may be out of view."""
CHANGES = "it may change something"
NOT_WHAT_WAS_ASKED = (
    "Not executed: the person was asked about another call, or the page has changed since then. "
    "Call again if it is still needed: the person will be asked about that call."
)
UNTRUSTED_TEXT = "untrusted text has been read"
UNTRUSTED_FOLDER = "the files of this folder are not trusted (`manus trust`)"
SERVER_TEXT = "the descriptions of an MCP server's tools are untrusted text"
DOWNLOADS = "files have been read that a run has downloaded"
NOBODY_TO_ASK = (
    "Not executed: it asks a person, and this run refuses all questions. Decide by yourself, or do "
    "without it; state in your answer what you assumed."
)


CHANGES_GIT = "it changes your git repository"
GIT_HELD = (
    "the user is asked before a repository of theirs is changed. Make the same call again to have "
    "the user asked"
)
GIT_REFUSED = "the user would be asked, and this run refuses all questions"
GIT_DENIED = "the user's settings deny changes to their repositories by the rule `git`"
NOTHING_TO_EDIT = (
    'The edit names no argument: write those to change as JSON, such as `edit {"path": "b.txt"}`.'
)


def fetched(host: str) -> str:
    """Return why a run is tainted after a program has fetched something."""
    return f"a program has fetched text from {host}"


def subject(name: str, why: str, preview: str, problem: str = "") -> str:
    """Return what will happen and why a person is asked, without how to answer.

    `problem` says what was wrong with the answer before. Below a long preview the reason is
    repeated, so that it is in view together with the choices.
    """
    problem = f"{problem}\n\n" if problem else ""
    reason = f"You are asked because {visible(why)}."
    text = visible(preview)
    lines = "\n".join(f"  │ {line}" for line in text.split("\n"))
    is_long = len(text) > _LONG_PREVIEW or text.count("\n") > _MANY_LINES
    again = f"\n(That was the whole call of `{visible(name)}`. {reason})" if is_long else ""
    return f"{problem}May it call `{visible(name)}`? {reason}\n{lines}{again}"


def question(
    about: str, rules: Sequence[str], hosts: Sequence[str] = (), *, changes_git: bool = False
) -> str:
    """Return the question as a terminal shows it: its subject, and how to answer in words.

    `rules` are what `run` and `always` would approve; without any they are not offered. `hosts`: a
    yes to the call holds for such calls to them until the run ends, and so it does for changes to
    git repositories.
    """
    lasting = [*map(host_name, hosts), *(["changes to git repositories"] if changes_git else [])]
    until = f"; for {', '.join(lasting)} until the run ends" if lasting else ""
    choices = [f"`yes` (once{until})"]
    if rules:
        calls = visible(", ".join(rules))
        choices.append(
            f"`run` or `always` (without asking again about {calls}, in this run or in this folder)"
        )
    choices += ["`edit {…}` (with these arguments changed)", "or `no: REASON`"]
    return f"{about}\nAnswer {', '.join(choices)}."


def no_answer(text: str) -> str:
    """Say that a person's text does not decide about the call."""
    return f"`{visible(text[:80])}` is neither a yes nor a no."


def bad_edit(problem: str) -> str:
    """Say that the arguments of an edit cannot be read."""
    return f"The edit cannot be read: {problem}."


def other_tool(name: str, other: str) -> str:
    """Say that an edit keeps the tool of the call."""
    return f"An edit changes the arguments of `{visible(name)}`; it cannot call `{visible(other)}`."


def unknown_arguments(name: str, unknown: Sequence[str], arguments: Sequence[str]) -> str:
    """Say which arguments of an edit a tool does not have."""
    names = visible(", ".join(unknown))
    return f"`{visible(name)}` has no argument {names}; it takes: {', '.join(arguments)}."


def sends(hosts: Sequence[str], why_tainted: str) -> str:
    """Return why a person is asked about hosts."""
    names = ", ".join(map(host_name, hosts))
    return f"it may send something to {names}, which you have not named, and {why_tainted}"


def held(host: str, why_tainted: str) -> str:
    """Return what a program is told that may not connect to a host."""
    return (
        f"{host} was held back: {why_tainted}, and from then on programs reach only hosts that the "
        "user has named. Make the same call again to have the user asked; the rule "
        f"`host({host})` in `[approve]` `allow` lets it through for good"
    )


def first_use(hosts: Sequence[str], why_tainted: str) -> str:
    """Return why a person is asked about the first connection of a program behind Landlock."""
    names = ", ".join(map(host_name, hosts))
    return f"a program connects to {names} over the network of this machine, and {why_tainted}"


def held_at_first_use(host: str, why_tainted: str) -> str:
    """Return what a program is told whose connection is the first one in a tainted run."""
    return (
        f"{host} was held back: {why_tainted}, and the user is asked before the first connection "
        "of a program. Make the same call again to have the user asked"
    )


def held_for_good(host: str) -> str:
    """Return what a program is told that wants a host which was refused before."""
    return f"{host} was refused in this run: do without it"


def denied(rule: str) -> str:
    """Return what the model is told of a call that a rule forbids."""
    return f"Not executed: the person's settings deny it by the rule `{rule}`. Do without it."


def refused(reason: str) -> str:
    """Return what the model is told of a call that the person has refused."""
    details = f": {reason.rstrip('.')}" if reason else ""
    return f"Not executed: the person said no{details}. Do not try the same in another way."


def refused_before(hosts: Sequence[str]) -> str:
    """Return what the model is told of a call to hosts that were refused before in the run."""
    return (
        f"Not executed: {', '.join(hosts)} was refused in this run. Do without it, and do not try "
        "the same in another way."
    )


NETWORK_REFUSED = "the user has refused programs the network in this run: do without it"
"""What a program behind Landlock is told, and the model of a call, after a no to the first one."""


def refused_network() -> str:
    """Return what the model is told of a call whose program would use the network after a no."""
    return f"Not executed: {NETWORK_REFUSED}."


def refused_by_mode(why: str) -> str:
    """Return what the model is told of a call in a run that refuses whatever would be asked."""
    return (
        f"Not executed: a person would be asked, since {why}, and this run refuses all questions. "
        "Do without it, and say in your answer what was left out."
    )


def asked_elsewhere(hosts: Sequence[str]) -> str:
    """Return what the model is told of a second call to hosts that a person is asked about."""
    return (
        f"Not executed: the person is being asked about {', '.join(hosts)} for another call of the "
        "same message. Call again after the answer, if it is still needed."
    )


def changed(args: str) -> str:
    """Return what the model is told of a call that was made with other arguments."""
    return f"[The person has changed the call; it was made with {args}]\n"
