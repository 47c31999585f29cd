"""Split a shell line into its commands, for rules about calls.

Deny rules are matched against everything that might be a command (`possible_commands`), allow rules
only against what plainly is one (`plain_commands`). So a line that hides a command in a
substitution, a redirection, a loop or an assignment is never covered by an allow rule.
"""

from __future__ import annotations

import re

_BORDERS = re.compile(r"[;&|\n()`<>{}]+")
"""Where another command, or the name of a file, may begin."""
_ASSIGNMENTS = re.compile(r"^(?:[A-Za-z_]\w*=\S*\s+)+")
_TOKEN = re.compile(
    r"""
    (?P<space>[ \t]+)
    | (?P<discard>[12&]?>[ ]?(?:&[12]|/dev/null)(?=[\s;&|]|$))
    | (?P<separator>[;&|\n]+)
    | (?P<word>(?:
        '[^']*'
        | "[^"$`\\!]*"                  # in which the shell expands nothing
        | [^\s;&|'"$`\\<>(){}\#!\x00]+    # no expansion, redirection, group, comment
      )+)
    """,
    re.VERBOSE,
)
_KEYWORDS = frozenset(
    {
        *("case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for", "function", "if"),
        *("in", "select", "then", "time", "until", "while", "[["),
    }
)


def possible_commands(line: str) -> tuple[str, ...]:
    """Return all parts of a line that may be commands; quoted text is split as well."""
    stripped = (_ASSIGNMENTS.sub("", part.strip()) for part in _BORDERS.split(line))
    return tuple(" ".join(part.split()) for part in stripped if part.strip())


def plain_commands(line: str) -> tuple[str, ...] | None:
    """Return the commands in a line of simple commands, each with its words as typed.

    None if any part is not plainly a command and its arguments: an assignment before it, a
    redirection (except to `/dev/null` or `2>&1`), an expansion, a substitution, a loop, a comment.
    """
    commands: list[list[str]] = [[]]
    position = 0
    while position < len(line):
        token = _TOKEN.match(line, position)
        if token is None:
            return None
        if token["separator"]:
            commands.append([])
        elif token["word"]:
            commands[-1].append(token["word"])
        position = token.end()
    simple = [words for words in commands if words]
    if not all(_is_program(words[0]) for words in simple):
        return None
    return tuple(" ".join(words) for words in simple)


def _is_program(word: str) -> bool:
    return word not in _KEYWORDS and "=" not in word
