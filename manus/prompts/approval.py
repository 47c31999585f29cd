"""Questions to the user about calls, and messages to the model about the answers."""

from __future__ import annotations

from collections.abc import Sequence

from manus.prompts.visible import host_name, visible

_LONG_PREVIEW = 1_500
_MANY_LINES = 20
"""Characters and lines of a preview after which the reason may be out of view."""
CHANGES = "it may change something"
NOT_WHAT_WAS_ASKED = (
    "Not executed: the user was asked about another call, or the page has changed since. "
    "Call again if it is still needed; the user will then be asked about that call."
)
UNTRUSTED_TEXT = "untrusted text has been read"
UNTRUSTED_FOLDER = "the files of this folder are not trusted (`manus trust`)"
SERVER_TEXT = "the descriptions of an MCP server's tools are untrusted text"
DOWNLOADS = "files that a run has downloaded have been read"
NOBODY_TO_ASK = (
    "Not executed: it asks the user, and this run refuses all questions. Decide yourself, or do "
    "without it; state in your answer what you assumed."
)


CHANGES_GIT = "it changes your git repository"
NOTHING_TO_EDIT = (
    'The edit names no arguments: write those to change as JSON, such as `edit {"path": "b.txt"}`.'
)


def sets_git_config(lines: Sequence[str]) -> str:
    """Return why the user is asked about settings of a repository, which may start programs."""
    return f"it sets {', '.join(lines)} in the configuration of your git repository"


def fetched(host: str) -> str:
    """Return why a run is tainted after a program has fetched something."""
    return f"a program has fetched text from {host}"


def subject(name: str, why: str, preview: str, problem: str = "") -> str:
    """Return what will happen and why the user is asked, without how to answer.

    `problem` states what was wrong with the previous answer. The reason is repeated after a long
    preview, so that it is visible together with the choices.
    """
    problem = f"{problem}\n\n" if problem else ""
    reason = f"You are asked because {visible(why)}."
    text = visible(preview)
    lines = "\n".join(f"  │ {line}" for line in text.split("\n"))
    is_long = len(text) > _LONG_PREVIEW or text.count("\n") > _MANY_LINES
    again = f"\n(That was the whole call of `{visible(name)}`. {reason})" if is_long else ""
    return f"{problem}May the agent call `{visible(name)}`? {reason}\n{lines}{again}"


def question(
    about: str, rules: Sequence[str], hosts: Sequence[str] = (), *, changes_git: bool = False
) -> str:
    """Return the question as a terminal shows it: its subject, and how to answer in words.

    `rules` are what `run` and `always` would approve; without rules they are not offered. A yes to
    the call also approves such calls to `hosts`, and changes to git repositories, until the run
    ends.
    """
    lasting = [*map(host_name, hosts), *(["changes to git repositories"] if changes_git else [])]
    until = f"; for {', '.join(lasting)} until the run ends" if lasting else ""
    choices = [f"`yes` (this call{until})"]
    if rules:
        calls = visible(", ".join(rules))
        choices.append(f"`run` or `always` (all calls of {calls}, in this run or in this folder)")
    choices += ["`edit {…}` (with these arguments changed)", "or `no: REASON`"]
    return f"{about}\nAnswer {', '.join(choices)}."


def no_answer(text: str) -> str:
    """Return the message that an answer does not decide about the call."""
    return f"`{visible(text[:80])}` is neither a yes nor a no."


def bad_edit(problem: str) -> str:
    """Return the message that the arguments of an edit cannot be parsed."""
    return f"Cannot read the edit: {problem}."


def other_tool(name: str, other: str) -> str:
    """Return the message that an edit cannot change the tool of the call."""
    return f"An edit changes the arguments of `{visible(name)}`; it cannot call `{visible(other)}`."


def unknown_arguments(name: str, unknown: Sequence[str], arguments: Sequence[str]) -> str:
    """Return the message that a tool does not have some arguments of an edit."""
    names = visible(", ".join(unknown))
    return f"`{visible(name)}` has no argument {names}; it takes: {', '.join(arguments)}."


def sends(hosts: Sequence[str], why_tainted: str) -> str:
    """Return why the user is asked about hosts."""
    names = ", ".join(map(host_name, hosts))
    return f"it may send something to {names}, which you have not named, and {why_tainted}"


def held(host: str, why_tainted: str) -> str:
    """Return the message to a program that must not connect to a host."""
    return (
        f"{host} was blocked: {why_tainted}, and since then programs can reach only hosts that the "
        "user has named. Repeat the call to ask the user; the rule "
        f"`host({host})` in `[approve]` `allow` permits it permanently"
    )


def first_use(hosts: Sequence[str], why_tainted: str) -> str:
    """Return why the user is asked about the first connection of a program behind Landlock."""
    names = ", ".join(map(host_name, hosts))
    return f"a program connects to {names} over the network of this machine, and {why_tainted}"


def held_at_first_use(host: str, why_tainted: str) -> str:
    """Return the message to a program that makes the first connection in a tainted run."""
    return (
        f"{host} was blocked: {why_tainted}, and the user is asked before the first connection "
        "of a program. Repeat the call to ask the user"
    )


def held_for_good(host: str) -> str:
    """Return the message to a program that connects to a host refused before."""
    return f"{host} was refused in this run: do without it"


def denied(rule: str) -> str:
    """Return the observation of a call that a rule denies."""
    return f"Not executed: the rule `{rule}` in the user's settings denies it. Do without it."


def refused(reason: str) -> str:
    """Return the observation of a call that the user has refused."""
    details = f": {reason.rstrip('.')}" if reason else ""
    return f"Not executed: the user declined{details}. Do not attempt the same in another way."


def refused_before(hosts: Sequence[str]) -> str:
    """Return the observation of a call to hosts that were refused earlier in the run."""
    return (
        f"Not executed: {', '.join(hosts)} was refused in this run. Do without it, and do not try "
        "the same in another way."
    )


NETWORK_REFUSED = "the user has refused programs the network in this run: do without it"
"""The message to programs behind Landlock, and in observations, after the first one was refused."""


def refused_network() -> str:
    """Return the observation of a call whose program would use the network after a refusal."""
    return f"Not executed: {NETWORK_REFUSED}."


def refused_by_mode(why: str) -> str:
    """Return the observation of a call in a run that refuses all questions."""
    return (
        f"Not executed: the user would be asked, since {why}, and this run refuses all questions. "
        "Do without it, and say in your answer what was left out."
    )


def asked_elsewhere(hosts: Sequence[str]) -> str:
    """Return the observation of another call to hosts that the user is being asked about."""
    return (
        f"Not executed: the user is being asked about {', '.join(hosts)} for another call in the "
        "same message. Call again after the answer if it is still needed."
    )


def changed(args: str) -> str:
    """Return the note on a call that the user has edited."""
    return f"[The user has edited the call; it was made with {args}]\n"
