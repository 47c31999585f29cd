"""Which commands a shell line certainly contains, and which it might."""

from __future__ import annotations

import pytest

from manus.tools.shell import plain_commands, possible_commands

PLAIN = {
    "git status": ("git status",),
    "git log -5 'a b' && ls *.py | head": ("git log -5 'a b'", "ls *.py", "head"),
    "make 2>&1 | tail -3": ("make", "tail -3"),
    "make >/dev/null 2>&1": ("make",),
    "grep 'a;b' f": ("grep 'a;b' f",),
    "echo 'a\nb'\nrm -r .": ("echo 'a\nb'", "rm -r ."),
    "sleep 1 & rm f": ("sleep 1", "rm f"),
    "~/bin/x 日本": ("~/bin/x 日本",),
    "\n": (),
}
NOT_PLAIN = (
    "LD_PRELOAD=./x.so git status",
    "git log > .bashrc",
    "git log >/dev/null/../x",
    "for f in *; do echo a; done",
    'git log "$(rm -r .)"',
    "git log `rm -r .`",
    "git diff <(rm -r .)",
    "(rm x)",
    "{ rm x; }",
    "a\\;b",
    "ls # x",
    "echo 'open",
    "cat <<E\nrm x\nE",
    "git\rrm",
)


@pytest.mark.parametrize(("line", "commands"), PLAIN.items())
def test_a_line_of_simple_commands(line: str, commands: tuple[str, ...]) -> None:
    assert plain_commands(line) == commands


@pytest.mark.parametrize("line", NOT_PLAIN)
def test_a_line_that_may_hide_a_command(line: str) -> None:
    assert plain_commands(line) is None


@pytest.mark.parametrize("line", [line for line in NOT_PLAIN if "rm " in line])
def test_a_hidden_command_is_seen_by_rules_that_forbid(line: str) -> None:
    assert any(command.startswith("rm ") for command in possible_commands(line))
