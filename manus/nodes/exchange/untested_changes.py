"""Recognize calls that run a project's tests, and find sources changed after the last of them.

An untested edit is easily overlooked, because the last test result was good. The answer of a run
that ran tests therefore names the source files changed after them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path, PurePath
from typing import Any

from manus.execution.changed_files import changed_since
from manus.prompts import agent as prompts
from manus.state.text import one_line
from manus.tools.python_execute import PYTHON
from manus.tools.shell.commands import possible_commands


def _read_words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_SHELL = "bash"
_HEREDOC = re.compile(r"<<-?\s*(['\"]?)(\w+)\1(.*?)^\s*\2\s*$", re.DOTALL | re.MULTILINE)
_INNER_SHELL = re.compile(r"\b\w*sh\s+-l?c\s+(['\"])(.*?)\1", re.DOTALL)
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
_COMMENT = re.compile(r"(?:^|(?<=\s))#.*")
_RUNNERS = _read_words("""
    pytest py.test unittest doctest tox nox nose2 nosetests trial stestr behave jest vitest
    mocha ava karma ctest rspec phpunit pest bats gotestsum cucumber
""")
_LAUNCHERS = _read_words("""
    npm pnpm yarn bun deno go cargo dotnet swift mix sbt lein mvn mvnw gradle gradlew flutter
    dart zig bazel composer make gmake just task ninja meson rake stack cabal dune hatch pdm
    invoke inv manage.py setup.py
""")
"""Programs that run tests only with a target or subcommand for them."""
_TARGET = re.compile(r"(?:.*[:_-])?(?:tests?|spec|nextest|verify)(?:[:_-].*)?|:?\w*:test\w*|check")
_ONLY_COMPILES = ("cargo", "npm", "pnpm", "yarn", "bun", "deno", "dart")
"""Programs whose `check` runs no tests."""
_INTERPRETER = re.compile(r"python[\d.]*|py|node|tsx|ts-node|ruby|php|perl|(?:ba|z|da)?sh")
_SCRIPT = re.compile(
    r"(?:run[_-]?)?(?:all[_-]?)?tests?(?:[_-][\w-]+)?(?:\.\w+)?|runtests(?:\.\w+)?"
    r"|[\w-]+_test\.\w+|[\w-]+\.(?:test|spec)\.\w+"
)
_OTHER_PROGRAMS = _read_words("""
    [ alias apt apt-get awk brew cat cd chmod code conda cp curl diff echo export find git grep
    head less ls man mkdir mv nano pip pip3 printf rg rm sed sudo-edit tail test touch type vi
    vim wc which
""")
"""Programs whose arguments may name a test runner that they do not run."""
_NO_RUN = _read_words("""
    install add remove uninstall --version --help -h --collect-only --co
""")
_PYTHON_CODE = re.compile(
    r"\bpytest\.main\s*\(|\bunittest\.(?:main|TextTestRunner)\b|\bdoctest\.test\w+\s*\("
    r"|['\"\s/](?:pytest|unittest|tox)['\"\s]"
)
_SOURCES = _read_words("""
    .c .cc .clj .cljs .cpp .cs .css .cu .cxx .dart .el .erl .ex .exs .f90 .fs .go .graphql .h
    .hpp .hs .java .jl .js .jsx .kt .kts .less .lua .m .mjs .ml .mm .nim .php .pl .pm .proto .py
    .pyi .pyx .r .rb .rs .sass .scala .scss .sh .sql .svelte .swift .tcl .toml .ts .tsx .v .vue
    .yaml .yml .zig
""")
_WITHOUT_RUNNER = re.compile(
    r"(?:No module named '?(?:pytest|tox|nox|nose2|trial)\b"
    r"|[Mm]issing script: |No rule to make target )[^\n]*\s*\[exit code \d+\]\s*$"
    r"|\[exit code 127\]\s*$"
)
"""The end of the output of a command whose test runner is not installed or not defined."""
_MAX_NAMED = 3
"""Files named in a note."""
_MAX_PATH = 120
"""Characters of a path in a note."""
_BUILT = frozenset(("build", "coverage", "dist", "out", "target", "vendor"))
"""Folders with files that programs generate."""


def runs_tests(name: str, args: Any) -> bool:
    """Return whether a call runs tests, as far as its command shows."""
    if not isinstance(args, dict):
        return False
    if name.lower() == PYTHON:
        return bool(_PYTHON_CODE.search(str(args.get("code") or "")))
    if name.lower() != _SHELL:
        return False
    command = str(args.get("command") or args.get("cmd") or "")
    command = _INNER_SHELL.sub(r"true; \2 ;", _HEREDOC.sub("", command))
    command = _COMMENT.sub("", _QUOTED.sub("''", command))
    return any(map(_is_test_command, possible_commands(command)))


def lacks_runner(output: str) -> bool:
    """Return whether a command ran no tests because their runner is not there."""
    return bool(_WITHOUT_RUNNER.search(output))


def _is_test_command(command: str) -> bool:
    words = [PurePath(word).name for word in command.split()]
    if not words or words[0] in _OTHER_PROGRAMS or _NO_RUN.intersection(words):
        return False
    if _RUNNERS.intersection(words) or ("node" in words and "--test" in words):
        return True
    for index, word in enumerate(words):
        if word in _LAUNCHERS:
            targets = filter(_TARGET.fullmatch, words[index + 1 :])
            return any(target != "check" or word not in _ONLY_COMPILES for target in targets)
    return _runs_test_script(words)


def _runs_test_script(words: Sequence[str]) -> bool:
    """Return whether a command is a test script, or an interpreter with one."""
    if _SCRIPT.fullmatch(words[0]):
        return True
    is_interpreted = any(map(_INTERPRETER.fullmatch, words))
    return is_interpreted and any(_SCRIPT.fullmatch(word) for word in words if "." in word)


def note_untested_changes(root: Path, tested_at: int) -> str:
    """Return a line that names the sources changed after the last test run, or "". Blocking.

    `tested_at`: its end in nanoseconds, by the clock of file timestamps.
    """
    files = [file for file in changed_since(root, tested_at) if _is_source(PurePath(file))]
    names = [one_line(file, _MAX_PATH) for file in files[:_MAX_NAMED]]
    return prompts.untested_changes(names, len(files)) if files else ""


def _is_source(file: PurePath) -> bool:
    """Return whether tests may depend on a file: documents and results are excluded."""
    is_source = file.suffix.lower() in _SOURCES or file.name in ("Makefile", "Dockerfile")
    return is_source and not _BUILT.intersection(file.parts[:-1])
