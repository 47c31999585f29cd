"""The description of the environment and the skills for the model at the start of a run."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

_PROXY = (
    "; their network is open, but a proxy may refuse a host: say so and do not work around it. "
    "127.0.0.1 is the sandbox's own, also for the browser; "
)
_NETWORK = {"off": "; they have no network.", "open": "; their network is open."}
_USER_SERVERS = {
    True: "reach a server of the user in the browser, or with `curl --noproxy ''`.",
    False: "a server of the user needs `egress.allow_private` in manus.toml.",
}

_ENTRIES = "Entries of the workspace at the beginning"
_NO_ENTRIES = "The workspace was empty at the beginning"
_LISTING = re.compile(rf"^- (?:{_ENTRIES}|{_NO_ENTRIES}).*(?:\n  .*)*", re.MULTILINE)


def environment(facts: Mapping[str, str], entries: Sequence[str], omitted: int = 0) -> str:
    """Return the facts, one line each, and the listing of the workspace.

    `omitted`: the number of entries that the listing omits.
    """
    lines = ["Where you are:", *(f"- {name}: {fact}" for name, fact in facts.items() if fact)]
    lines.append(f"- {_ENTRIES}:" if entries else f"- {_NO_ENTRIES}.")
    lines += [f"  {entry}" for entry in entries]
    if omitted:
        lines.append(f"  [{omitted:,} more]")
    return "\n".join(lines)


def is_same(text: str, other: str) -> bool:
    """Return whether two descriptions differ at most in files."""
    return _strip(text) == _strip(other)


def _strip(text: str) -> list[str]:
    return [line for line in _LISTING.sub("", text).splitlines() if line]


def hidden(names: Sequence[str]) -> str:
    """Return the entry of the listing for hidden files and folders."""
    return f"{', '.join(names)} (hidden)"


def secrets(hosts: Mapping[str, str]) -> str:
    """Return the names of the secrets and the host of each."""
    names = ", ".join(f"<secret:{name}> on {host}" for name, host in hosts.items())
    return f"Type them with `input_text` by name, without knowing them: {names}." if hosts else ""


def python(interpreter: str, *, runs_own: bool | None) -> str:
    """Return which Python the programs and `python_execute` use.

    `interpreter` describes `python3`; empty if there is none. `runs_own`: `python_execute` runs
    manus's own Python; None where the agent has no `python_execute`.
    """
    interpreter = interpreter.removesuffix(" (.venv)")  # after `in .venv`
    own = "`python_execute` runs manus's own Python (with pandas)"
    if not interpreter:
        return f"there is no `python3`; {own}." if runs_own else ""
    if runs_own is None:
        return f"`python3` is {interpreter}."
    if runs_own:
        return f"`python3` is {interpreter}; {own}."
    return f"`python3` and `python_execute` run {interpreter}."


def programs(network: str, hidden: Sequence[str] = (), *, has_servers: bool = False) -> str:
    """Return the rules for programs in a sandbox.

    `hidden`: the user's folders that it hides. `has_servers`: a server of the user may be reached.
    """
    scope = "They run in a sandbox and can write only in the workspace and in $TMPDIR"
    rules = f"{scope}{_NETWORK.get(network) or _PROXY + _USER_SERVERS[has_servers]}"
    if not hidden:
        return rules
    return (
        f"{rules} They do not see the user's programs in {', '.join(hidden)}; `read` under "
        "`[sandbox]` in manus.toml would show them."
    )


def output(characters: int) -> str:
    """Return how much of an observation is shown; `characters`: the size that is always whole."""
    return f"whole up to {characters:,} characters; of more you see less, and a file has all of it."


def not_installed(packages: Sequence[str]) -> str:
    """Return that packages of the project cannot be imported without a path."""
    names = ", ".join(f"src/{name}" for name in packages)
    return f" {names} is not installed there: set `PYTHONPATH=src`." if packages else ""


def programs_of_others(network: str) -> str:
    """Return what an agent needs to know about programs that it does not start itself."""
    return "They have no network." if network == "off" else ""


def entry_count(folder: str, count: int) -> str:
    """Return the entry of the listing for a folder whose entries are not listed."""
    return f"{folder} ({count:,} {'entry' if count == 1 else 'entries'})"


def instructions(name: str, text: str, left_out: int) -> str:
    """Return the project's own instructions; `left_out`: the number of characters cut off."""
    rest = f"\n[{left_out:,} more characters: read the file]" if left_out else ""
    return (
        f"The project's own instructions for agents, from its file {name}. Follow them; the user's "
        f"request takes precedence.\n<project>\n{text}{rest}\n</project>"
    )


def nested_instructions(names: Sequence[str]) -> str:
    """Return which folders have instructions of their own."""
    if not names:
        return ""
    return (
        f"Folders with instructions of their own: {', '.join(names)}. Before you change files in "
        "such a folder, read its instructions; the nearest file applies."
    )


def memory(text: str) -> str:
    """Return what the user has asked the agent to remember."""
    head = "What the user has asked you to remember, in earlier conversations:"
    return f"{head}\n{text}" if text else ""


def skills(descriptions: Mapping[str, str], reader: str = "skill") -> str:
    """Return the list of skills, by name; `reader` is the tool that reads them."""
    lines = [f"- {name}: {description}" for name, description in descriptions.items()]
    head = f"Skills. Before work that a skill covers, read it with `{reader}`, by name:"
    return "\n".join([head, *lines]) if lines else ""


def skill(name: str, folder: str, body: str, files: Sequence[str]) -> str:
    """Return the text of a skill and the names of the other files in its folder."""
    listing = (
        f"\n\nOther files of this skill (read with `file`): {', '.join(files)}" if files else ""
    )
    return f"The skill {name}, from {folder}:\n\n{body}{listing}"
