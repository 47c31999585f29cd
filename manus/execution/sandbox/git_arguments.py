"""Classify git commands: those that only read, change a repository, or start programs.

Commands that only read run in the program's sandbox. The others change a repository that is
read-only there; they are forwarded to the host, which executes those that this module allows.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Sequence
from typing import Literal, NamedTuple

from manus.execution.sandbox.repositories import is_harmless_entry, is_harmless_url

Kind = Literal["read", "write", "refuse"]

_WITH_VALUE = frozenset({"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--config-env"})
_GLOBAL_OPTIONS = frozenset(
    {
        *("-C", "--git-dir", "--work-tree", "--namespace", "--bare", "-p", "-P", "--paginate"),
        *("--no-pager", "--no-replace-objects", "--no-optional-locks", "--literal-pathspecs"),
        *("--glob-pathspecs", "--noglob-pathspecs", "--icase-pathspecs"),
    }
)
_STARTS_PROGRAMS = frozenset(
    {
        *("daemon", "difftool", "filter-branch", "fsmonitor--daemon", "gui", "instaweb"),
        *("maintenance", "mergetool", "send-email", "svn", "p4"),
    }
)
_CHANGES = frozenset(
    {
        *("add", "am", "apply", "bisect", "branch", "checkout", "cherry-pick", "commit", "config"),
        *("commit-tree", "fast-import", "fetch", "gc", "hash-object", "init", "merge", "mktag"),
        *("mktree", "mv", "notes", "pack-refs", "prune", "pull", "push", "read-tree", "rebase"),
        *("reflog", "remote", "repack", "replace", "reset", "restore", "revert", "rm", "rerere"),
        *("sparse-checkout", "stage", "stash", "submodule", "switch", "symbolic-ref", "tag"),
        *("update-index", "update-ref", "worktree", "write-tree"),
    }
)
FORWARDED = tuple(sorted(_CHANGES | _STARTS_PROGRAMS))
"""Commands that are forwarded to the host; all others run in the sandbox."""

_PROGRAM_OPTIONS = ("--exec", "--upload-pack", "--receive-pack", "--template", "--config")
"""Options whose value is a program or may name one. Git also accepts abbreviations."""
_SHORTEST_OPTION = 4
_LISTS_BRANCHES = frozenset(
    {
        *("-a", "--all", "-r", "--remotes", "-l", "--list", "--contains", "--no-contains"),
        *("--merged", "--no-merged", "--points-at", "--show-current"),
    }
)
_CHANGES_BRANCHES = re.compile(
    r"-[dDmMcCfu]|--(?:delete|move|copy|force|set-upstream-to|unset-upstream|edit-description)\b.*"
)
_LISTS_TAGS = re.compile(
    r"-[lv]|-n\d*|--(?:list|verify|contains|no-contains|merged|no-merged|points-at)\b.*"
)
_READING_WORDS: dict[str, frozenset[str]] = {
    "bisect": frozenset({"log", "terms", "help"}),
    "notes": frozenset({"list", "show", "get-ref"}),
    "reflog": frozenset({"show", "exists", "list"}),
    "remote": frozenset({"-v", "--verbose", "show", "get-url"}),
    "rerere": frozenset({"status", "diff", "remaining"}),
    "sparse-checkout": frozenset({"list"}),
    "stash": frozenset({"list", "show"}),
    "submodule": frozenset({"status", "summary", "foreach"}),  # `foreach` runs in the sandbox
    "worktree": frozenset({"list"}),
}
_READS_ALONE = frozenset({"notes", "reflog", "remote", "submodule", "branch", "tag", "bisect"})
"""Commands that only list something if they have no arguments."""
_CONFIG_READS = re.compile(r"--get(?:-.*)?|-l|--list|get|list")
_CONFIG_REMOVES = frozenset({"--unset", "--unset-all", "--remove-section", "unset"})
_CONFIG_ELSEWHERE = re.compile(r"--(?:global|system|blob|file)\b.*|-f.*")
_CONFIG_WITH_VALUE = frozenset({"--type", "--default", "--value", "--comment"})
_COMMAND = re.compile(
    r"(?:(?:sudo|env|command|exec|time|nohup|builtin|xargs|then|do|else|!|timeout\s+\S+)\s+)*"
    r"(?:[\w./-]*/)?git\s+(?P<arguments>.+)",
    re.DOTALL,
)


class Judgement(NamedTuple):
    """The decision about a git command."""

    kind: Kind
    reason: str = ""
    """Why the command is refused; empty otherwise."""


class GitCommand(NamedTuple):
    """A parsed command line of git."""

    options: tuple[tuple[str, str | None], ...]
    """Options before the command, each with its value or None."""
    name: str
    arguments: tuple[str, ...]


def parse_command(arguments: Sequence[str]) -> GitCommand:
    """Parse the arguments of git."""
    options: list[tuple[str, str | None]] = []
    words = list(arguments)
    while words and words[0].startswith("-"):
        word = words.pop(0)
        if word in _WITH_VALUE:
            options.append((word, words.pop(0) if words else ""))
        elif "=" in word:
            name, _, value = word.partition("=")
            options.append((name, value))
        else:
            options.append((word, None))
    name = words.pop(0) if words else ""
    return GitCommand(tuple(options), name, tuple(words))


def judge(arguments: Sequence[str]) -> Judgement:
    """Decide whether a git command reads, writes, or is refused."""
    command = parse_command(arguments)
    if command.name not in FORWARDED:
        return Judgement("read")
    if command.name in _STARTS_PROGRAMS:
        return _refuse(f"`git {command.name}` starts programs")
    judgement = _JUDGES.get(command.name, _judge_by_first_word)(command)
    if judgement.kind != "write":
        return judgement
    return _judge_options(command) or judgement


def changes_repository(line: str) -> bool:
    """Return whether a part of a shell line is clearly a git command that changes a repository."""
    match = _COMMAND.match(line)
    if match is None:
        return False
    try:
        words = shlex.split(match["arguments"])
    except ValueError:  # splitting the line has cut a quoted string apart
        words = match["arguments"].split()
    return judge(words).kind == "write"


def _refuse(cause: str) -> Judgement:
    return Judgement("refuse", f"{cause}, and git must not start programs in your repository")


def _judge_options(command: GitCommand) -> Judgement | None:
    """Refuse options that may start programs; return None if there are none."""
    for name, value in command.options:
        if name == "-c":
            key, _, setting = (value or "").partition("=")
            if not is_harmless_entry(key, setting):
                return _refuse(f"`-c {key}` may name a program")
        elif name not in _GLOBAL_OPTIONS:
            return _refuse(f"the option `{name}` is not known to be harmless")
    for word in command.arguments:
        if word == "--":
            break
        name = word.partition("=")[0]
        if len(name) >= _SHORTEST_OPTION and any(o.startswith(name) for o in _PROGRAM_OPTIONS):
            return _refuse(f"the option `{name}` may name a program")
    return None


def _judge_by_first_word(command: GitCommand) -> Judgement:
    """Judge commands whose first argument is the action."""
    first = next(iter(command.arguments), "")
    reads = first in _READING_WORDS.get(command.name, ())
    if reads or (not first and command.name in _READS_ALONE):
        return Judgement("read")
    return Judgement("write")


def _judge_branch(command: GitCommand) -> Judgement:
    words = command.arguments
    if any(map(_CHANGES_BRANCHES.fullmatch, words)):
        return Judgement("write")
    lists = any(word.partition("=")[0] in _LISTS_BRANCHES for word in words)
    return Judgement("read" if lists or not _select_positional(words) else "write")


def _judge_tag(command: GitCommand) -> Judgement:
    words = command.arguments
    lists = any(map(_LISTS_TAGS.fullmatch, words))
    return Judgement("read" if lists or not _select_positional(words) else "write")


def _judge_apply(command: GitCommand) -> Judgement:
    changes_index = {"--index", "--cached", "--3way", "-3", "--intent-to-add", "-N"}
    return Judgement("read" if changes_index.isdisjoint(command.arguments) else "write")


def _judge_bisect(command: GitCommand) -> Judgement:
    first = next(iter(command.arguments), "")
    if first in ("run", "visualize", "view"):
        return _refuse(f"`git bisect {first}` starts programs")
    return _judge_by_first_word(command)


def _judge_hash_object(command: GitCommand) -> Judgement:
    return Judgement("write" if "-w" in command.arguments else "read")


def _judge_symbolic_ref(command: GitCommand) -> Judgement:
    words = command.arguments
    reads = len(_select_positional(words)) < 2 and not {"-d", "--delete"} & {*words}
    return Judgement("read" if reads else "write")


def _judge_rebase(command: GitCommand) -> Judgement:
    for word in command.arguments:
        if re.match(r"-[a-wyz]*x", word):
            return _refuse("`git rebase --exec` starts programs")
    return Judgement("write")


def _judge_remote(command: GitCommand) -> Judgement:
    first, *rest = command.arguments or ("",)
    if first in ("add", "set-url"):
        addresses = [word for word in _select_positional(rest)[1:] if not is_harmless_url(word)]
        if addresses:
            return _refuse(f"`{addresses[0]}` may name a program")
    return _judge_by_first_word(command)


def _judge_config(command: GitCommand) -> Judgement:
    words = command.arguments
    if any(map(_CONFIG_ELSEWHERE.fullmatch, words)) or any(map(_CONFIG_READS.fullmatch, words[:3])):
        return Judgement("read")
    if {"-e", "--edit", "edit"} & {*words[:1]}:
        return _refuse("`git config --edit` starts an editor")
    rest = [word for word in _remove_options(words) if word not in ("set", "unset")]
    if _CONFIG_REMOVES & {*words} or (len(rest) < 2 and "--rename-section" not in words):
        return Judgement("write" if _CONFIG_REMOVES & {*words} else "read")
    key, value = (f"{rest[-1]}.name", "") if "--rename-section" in words else rest[:2]
    if not is_harmless_entry(key, value):
        return _refuse(f"the setting `{key}` is not known to be harmless: it may name a program")
    return Judgement("write")


def _remove_options(words: Iterable[str]) -> list[str]:
    """Return the arguments without options and their values."""
    arguments: list[str] = []
    words = iter(words)
    for word in words:
        if word in _CONFIG_WITH_VALUE:
            next(words, None)
        elif not word.startswith("-"):
            arguments.append(word)
    return arguments


def _select_positional(words: Iterable[str]) -> list[str]:
    return [word for word in words if not word.startswith("-")]


_JUDGES: dict[str, Callable[[GitCommand], Judgement]] = {
    "apply": _judge_apply,
    "bisect": _judge_bisect,
    "branch": _judge_branch,
    "config": _judge_config,
    "hash-object": _judge_hash_object,
    "rebase": _judge_rebase,
    "remote": _judge_remote,
    "symbolic-ref": _judge_symbolic_ref,
    "tag": _judge_tag,
}
