"""Where a model works and which skills there are, as it is told once, when a run begins."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

_NETWORK = {
    "rules": "Their network goes through a proxy. A host that it refuses stays refused: say so, "
    "and look for no way round it. 127.0.0.1 is their own; what the user serves there is reached, "
    "if `egress.allow_private` allows it, in the browser, or with `curl --noproxy ''`.",
    "off": "They have no network.",
    "open": "",
}

_ENTRIES = "Entries of the workspace at the beginning"
_NO_ENTRIES = "The workspace was empty at the beginning"
_LISTING = re.compile(rf"^- (?:{_ENTRIES}|{_NO_ENTRIES}).*(?:\n  .*)*", re.MULTILINE)


def place(facts: Mapping[str, str], entries: Sequence[str], more: int = 0) -> str:
    """What is there, one line each, and the listing of the workspace; `more` were left out."""
    lines = ["Where you are:", *(f"- {name}: {said}" for name, said in facts.items() if said)]
    lines.append(f"- {_ENTRIES}:" if entries else f"- {_NO_ENTRIES}.")
    lines += [f"  {entry}" for entry in entries]
    if more:
        lines.append(f"  [{more:,} more]")
    return "\n".join(lines)


def is_same(one: str, other: str) -> bool:
    """Whether two tell the same, but for the entries of the workspace."""
    return _LISTING.sub("", one) == _LISTING.sub("", other)


def secrets(hosts: Mapping[str, str]) -> str:
    """The names of the secrets, and for which host each is."""
    named = ", ".join(f"<secret:{name}> on {host}" for name, host in hosts.items())
    return f"Type them with `input_text` by name, without knowing them: {named}." if hosts else ""


def tools(selected: Sequence[str], problems: Sequence[str], *, own_python: bool | None) -> str:
    """Return which of the user's tools are used, and what of them cannot be.

    `own_python` is None where the agent has no `python_execute`.
    """
    lines = [f"first on the `PATH`: {', '.join(selected)}."] if selected else []
    if own_python:
        lines.append(
            "`python_execute` runs manus's own Python with its packages (pandas among them), not "
            "one of the workspace."
        )
    elif own_python is False and not any(label.startswith("Python ") for label in selected):
        lines.append(
            "The workspace has no Python environment, so `python_execute` runs manus's own Python."
        )
    return " ".join([*lines, *problems])


def programs(network: str, hidden: Sequence[str] = ()) -> str:
    """What holds for programs in a sandbox; `hidden`: folders of the user's that it hides."""
    said = "They run in a sandbox and can write only in the workspace and in temporary folders."
    unseen = (
        f"They do not see the user's programs in {', '.join(hidden)}; if one is needed, say that "
        "`read` under `[sandbox]` in manus.toml shows its folder."
    )
    return " ".join(part for part in (said, unseen if hidden else "", _NETWORK[network]) if part)


def instructions(name: str, text: str, left_out: int) -> str:
    """The project's own instructions; `left_out` counts the characters that had no room."""
    rest = f"\n[{left_out:,} more characters: read the file]" if left_out else ""
    return (
        f"The project's own instructions for agents, from its file {name}. Follow them; what the "
        f"user asks for comes first.\n<project>\n{text}{rest}\n</project>"
    )


def memory(text: str) -> str:
    """What the user has asked to be kept."""
    head = "What the user has asked you to remember, in earlier conversations:"
    return f"{head}\n{text}" if text else ""


def skills(known: Mapping[str, str]) -> str:
    """The skills by name, with their descriptions."""
    lines = [f"- {name}: {description}" for name, description in known.items()]
    head = "Skills that say how some work is done well. Read one with `skill` before work it fits:"
    return "\n".join([head, *lines]) if lines else ""


def skill(name: str, folder: str, body: str, files: Sequence[str]) -> str:
    """A skill as it is read, with what else is in its folder."""
    more = f"\n\nOther files of this skill (read with `file`): {', '.join(files)}" if files else ""
    return f"The skill {name}, from {folder}:\n\n{body}{more}"
