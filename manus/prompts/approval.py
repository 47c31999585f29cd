"""Questions to the user about calls, and messages to the model about the answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from manus.prompts.visible import host_name, visible

_LONG_PREVIEW = 1_500
_MANY_LINES = 20
"""Characters and lines of a preview after which the reason may be out of view."""
CHANGES = "it may change something"
UNTRUSTED_TEXT = "from the web, an attachment or an MCP server"
UNTRUSTED_FOLDER = "the files of this folder, which are not trusted (`manus trust`)"
ALL_FILES = 'the files of this folder (`taint = "all"`)'
SERVER_TEXT = "the descriptions of an MCP server's tools"
PRIVATE_TEXT = "files, attachments or memory"
FILES = "the files of the workspace"
MEMORY = "your memory or AGENTS.md"
LOGIN = "a page behind a login"
AGENT_READ = "what another agent has read"
DOWNLOADS = "files that earlier runs have downloaded, or written after untrusted text"
NOBODY_TO_ASK = (
    "Not executed: it asks the user, and this run refuses all questions. Decide yourself, or do "
    "without it; state in your answer what you assumed."
)


CHANGES_GIT = "it changes your git repository"
UNCONFINED = "no sandbox confines it, so it can read and change all your files"
CANNOT_EDIT = "The arguments cannot be edited: what the call was meant for has changed since."
NOTHING_TO_EDIT = (
    'The edit names no arguments: write those to change as JSON, such as `edit {"path": "b.txt"}`.'
)


def held_files(texts: Mapping[str, str], problem: str) -> str:
    """Return the question about files that programs of the run have written, with their content."""
    blocks = []
    for name, text in texts.items():
        lines = "\n".join(f"  │ {line}" for line in visible(text).split("\n"))
        blocks.append(f"{visible(name)}\n{lines}")
    before = f"{problem}\n\n" if problem else ""
    return (
        f"{before}May these files be in your workspace? The run's programs have written them, and "
        "your editor, shell or git would start what they contain, so they were taken out.\n"
        + "\n".join(blocks)
        + "\nAfter a no, `manus held` brings them back later."
    )


def sets_git_config(lines: Sequence[str]) -> str:
    """Return why the user is asked about settings of a repository, which may start programs."""
    return f"it sets {', '.join(lines)} in the configuration of your git repository"


def fetched(host: str) -> str:
    """Return which untrusted text a run has read after a program has fetched something."""
    return f"what a program fetched from {host}"


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


def scopes(rules: Sequence[str], hosts: Sequence[str]) -> tuple[str, ...]:
    """Return the lasting decisions that a question offers."""
    lasting = ("run", "always") if rules else ()
    return (*lasting, "web") if hosts else lasting


def question(
    about: str, rules: Sequence[str], hosts: Sequence[str] = (), *, changes_git: bool = False
) -> str:
    """Return the question as a terminal shows it: its subject, and how to answer in words.

    `rules` are what `run` and `always` would approve; without rules they are not offered. `web`, if
    the call sends something to `hosts`, approves any host. A yes to a change of a git repository
    approves such changes until the run ends.
    """
    until = "; for changes to git repositories until the run ends" if changes_git else ""
    choices = [f"`yes` (this call{until})"]
    if rules:
        calls = visible(", ".join(rules))
        choices.append(f"`run` or `always` (all calls of {calls}, in this run or in this folder)")
    if hosts:
        choices.append("`web` (whatever this run sends, anywhere)")
    choices += ["`edit {…}` (with these arguments changed)", "or `no: REASON`"]
    return f"{about}\nAnswer {', '.join(choices)}."


def no_answer(text: str) -> str:
    """Return the message that an answer does not decide about the call."""
    return f"`{visible(text[:80])}` is neither a clear yes nor a clear no, so nothing was decided."


def not_offered(scope: str) -> str:
    """Return the message that an answer is not among those of the question."""
    return f"`{scope}` is not offered here, so nothing was decided."


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


def objected(reason: str) -> str:
    """Return the message that a hook of the user refused a call."""
    return f"Not executed: the user's hook refused it. {reason}"


def noted(text: str) -> str:
    """Return what a hook of the user says about the result of a call."""
    return f"[The user's hook: {text}]"


def sends(hosts: Sequence[str], untrusted: str, private: str, *, by_program: bool) -> str:
    """Return why the user is asked before something is sent to hosts."""
    names = ", ".join(map(host_name, hosts))
    after = f"after this run has read untrusted text ({untrusted})"
    if by_program:
        return f"its programs connect to {names} and can send any file of the workspace, {after}"
    return f"it sends what is shown here to {names}, {after} and private data ({private})"


def stored_after(untrusted: str) -> str:
    """Return why the user is asked before a fact is stored."""
    return f"later conversations would read it, and this run has read untrusted text ({untrusted})"


def stored(fact: str) -> str:
    """Return the observation of a stored fact, which tells how to remove it."""
    return f"Stored for later conversations: “{fact}”. `manus memory --edit` changes or removes it."


def held(host: str, untrusted: str) -> str:
    """Return the message to a program that must not connect to a host."""
    return (
        f"{host} was blocked: this run has read untrusted text ({untrusted}), so the user is asked "
        "before programs send anything, as soon as the call has ended; the rule "
        f"`host({host})` in `[approve]` `allow` permits it permanently"
    )


def blocked_subject(name: str, why: str, preview: str, problem: str = "") -> str:
    """Return the question about hosts that the programs of a call were kept from."""
    before = f"{problem}\n\n" if problem else ""
    lines = "\n".join(f"  │ {line}" for line in visible(preview).split("\n"))
    return (
        f"{before}`{visible(name)}` was kept from connecting, and you are asked because "
        f"{visible(why)}:\n{lines}\nMay the programs of this run connect there from now on?"
    )


def blocked_question(about: str, rules: Sequence[str]) -> str:
    """Return the question about hosts as a terminal shows it, with how to answer in words."""
    in_folder = visible(", ".join(rules))
    return (
        f"{about}\nAnswer `yes` (until the run ends), `always` ({in_folder} in this folder), `web` "
        "(whatever this run sends, anywhere), or `no: REASON`."
    )


def hosts_allowed(hosts: Sequence[str]) -> str:
    """Return the note on a call after which the user has allowed hosts."""
    return (
        f"[The user now allows connections to {', '.join(hosts)}, which were blocked during this "
        "call: run again what needs them.]"
    )


def hosts_refused(hosts: Sequence[str], reason: str) -> str:
    """Return the note on a call after which the user has refused hosts."""
    details = f": {reason.rstrip('.')}" if reason else ""
    return (
        f"[The user declined connections to {', '.join(hosts)}{details}. Do without them, and do "
        "not try the same in another way.]"
    )


def held_for_good(host: str) -> str:
    """Return the message to a program that connects to a host refused before."""
    return f"{host} was refused in this run: do without it"


def not_what_was_asked(place: str) -> str:
    """Return the observation of an approved call that cannot be executed where it was meant for."""
    where = f"Go back to {place}" if place else "Restore what it was meant for"
    return (
        "Not executed yet: the user has approved this call, but what it was meant for has changed "
        f"or was closed since. {where} and repeat the call; the user will not be asked again."
    )


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
