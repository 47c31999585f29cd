"""Which calls run a project's tests, and the note in an answer about changes after them."""

import json
from pathlib import Path

import pytest

from manus.execution.changed_files import next_tick
from manus.graph.profiles import SWE
from manus.nodes.exchange.untested_changes import lacks_runner, note_untested_changes, runs_tests
from tests.helpers.agent import ScriptedAgent
from tests.server import Call, Scripted, call, calls, text

RUN_TESTS = [
    "pytest",
    "cd lib && .venv/bin/python -m pytest -x tests/test_a.py 2>&1 | tail -5",
    "PYTHONPATH=. timeout 60 python3 -m unittest discover",
    "uv run pytest -q",
    "poetry run coverage run -m pytest",
    "tox -e py311",
    "npm test",
    "npm run test:unit -- --watch=false",
    "npx jest src",
    "yarn test",
    "cargo test --all",
    "cargo nextest run",
    "go test ./...",
    "make test",
    "make -C sub check",
    "./gradlew :app:testDebug",
    "mvn -q verify",
    "python manage.py test shop",
    "python test_calc.py",
    "./run_tests.sh",
    "node --test",
    "bash -lc 'cd sub; pytest -q'",
    "sed -i s/a/b/ calc.py; pytest",
]
RUN_NONE = [
    "pip install pytest",
    "python -m pip install tox",
    "pytest --version",
    "grep -rn pytest .",
    "cat tests/test_a.py",
    "git commit -m 'run; pytest'",
    "git add tests",
    "ls test",
    "test -f x && echo yes",
    "cargo check",
    "npm run check",
    "npm install",
    "make",
    "make install",
    "ruff check test_a.py",
    "python calc.py",
    "# pytest",
    "cat > run.sh <<'EOF'\npytest\nEOF",
    "cd tests",
    "rm test_a.py",
]


@pytest.mark.parametrize("command", RUN_TESTS)
def test_a_command_that_runs_tests_is_recognized(command: str) -> None:
    assert runs_tests("bash", {"command": command})


@pytest.mark.parametrize("command", RUN_NONE)
def test_a_command_that_only_names_a_test_runner_is_not(command: str) -> None:
    assert not runs_tests("bash", {"command": command})


CODE = {
    "import pytest; pytest.main(['-q'])": True,
    "import subprocess\nsubprocess.run(['python', '-m', 'pytest'])": True,
    "import os; os.system('pytest -q')": True,
    "print(open('test_a.py').read())": False,
}


@pytest.mark.parametrize("code", CODE)
def test_python_that_runs_tests_is_recognized(code: str) -> None:
    assert runs_tests("python_execute", {"code": code}) is CODE[code]


@pytest.mark.parametrize("args", ["{", None, {}, {"command": None}, {"path": "pytest"}])
def test_arguments_of_other_forms_run_no_tests(args: object) -> None:
    assert not runs_tests("bash", args)
    assert not runs_tests("web_search", args)


async def test_only_sources_count_and_three_are_named(tmp_path: Path) -> None:
    (tmp_path / "before.py").touch()
    await next_tick()
    tested_at = await next_tick()
    assert note_untested_changes(tmp_path, tested_at) == ""
    for name in ("README.md", "out.csv", "report.html", ".hidden.py", "notes.txt"):
        (tmp_path / name).touch()
    (tmp_path / "build").mkdir()
    (tmp_path / "build/made.py").touch()
    assert note_untested_changes(tmp_path, tested_at) == ""
    (tmp_path / "a b.py").touch()
    assert note_untested_changes(tmp_path, tested_at) == (
        "Note: `a b.py` was changed after the last test run."
    )
    for name in "cdef":
        (tmp_path / f"{name}.go").touch()
    note = note_untested_changes(tmp_path, tested_at)
    assert note.endswith(" and 2 more were changed after the last test run.")
    assert note.count("`") == 6


def shell(command: str) -> Call:
    return call("bash", command=command)


TESTS = shell("python3 -m unittest -q test_a.py")
EDIT = call("str_replace_editor", command="create", path="a.py", file_text="A = 2\n")
NOTE = "Note: `a.py` was changed after the last test run."
RUNS: dict[str, tuple[list[Scripted], str]] = {
    "an edit after the tests": ([TESTS, EDIT, text("Done.")], f"Done.\n\n{NOTE}"),
    "an edit by a command": ([TESTS, shell("echo 'A = 3' > a.py"), text("Ok")], f"Ok\n\n{NOTE}"),
    "terminate": (
        [TESTS, EDIT, call("terminate", status="success", answer="Fixed.")],
        f"Fixed.\n\n{NOTE}",
    ),
    "tests after the edit": ([TESTS, EDIT, TESTS, text("Done.")], "Done."),
    "tests and edit in one message": ([calls(TESTS, EDIT), text("Done.")], f"Done.\n\n{NOTE}"),
    "edit and tests in one message": ([calls(EDIT, TESTS), text("Done.")], "Done."),
    "no tests": ([EDIT, text("Done.")], "Done."),
    "a test runner that is not there": (
        [shell("env PATH=/nowhere pytest -q"), EDIT, text("Done.")],
        "Done.",
    ),
    "no edit": ([TESTS, text("Done.")], "Done."),
    "only a document": ([TESTS, shell("echo hi > README.md"), text("Done.")], "Done."),
    "an answer that a program reads": ([TESTS, EDIT, text('{"a": 1}')], '{"a": 1}'),
}


@pytest.mark.parametrize("name", RUNS)
async def test_an_answer_says_what_was_changed_after_the_last_test_run(
    agent: ScriptedAgent, name: str
) -> None:
    turns, output = RUNS[name]
    agent = ScriptedAgent(agent.server, agent.workspace, agent.saver, SWE)
    tests = (
        "import a, unittest\n\nclass T(unittest.TestCase):\n    def test_a(self):\n        a.A\n"
    )
    (agent.workspace / "test_a.py").write_text(tests)
    (agent.workspace / "a.py").write_text("A = 1\n")
    outcome = await agent.run(*turns, request="Fix it.")
    assert (outcome.stop_reason in ("answered", "terminated"), outcome.output) == (True, output)


async def test_the_next_run_starts_without_the_tests_of_this_one(agent: ScriptedAgent) -> None:
    agent = ScriptedAgent(agent.server, agent.workspace, agent.saver, SWE)
    await agent.run(TESTS, text("Checked."), request="Run the tests.")
    outcome = await agent.run(EDIT, text("Written."), request="Now write a.py.")
    assert outcome.output == "Written."
    history = json.dumps([message.text for message in await agent.messages()])
    assert "after the last test run" not in history


MISSING_RUNNERS = [
    "/usr/bin/python3: No module named pytest\n[exit code 1]",
    "bash: line 1: pytest: command not found\n[exit code 127]",
    "sh: 1: jest: not found\n[exit code 127]",
    'npm error Missing script: "test"\n[exit code 1]',
    "make: *** No rule to make target 'test'.  Stop.\n[exit code 2]",
]
RUNNERS_AT_WORK = [
    "FAILED test_a.py::test_a - ModuleNotFoundError: No module named 'a'\n1 failed\n[exit code 1]",
    "sh: 1: tree: not found\n2 passed in 0.01s\n[exit code 0]",
    "ModuleNotFoundError: No module named 'numpy'\n[exit code 1]",
]


@pytest.mark.parametrize("output", MISSING_RUNNERS)
def test_a_missing_runner_is_recognized(output: str) -> None:
    assert lacks_runner(output)


@pytest.mark.parametrize("output", RUNNERS_AT_WORK)
def test_an_error_in_tests_is_not_a_missing_runner(output: str) -> None:
    assert not lacks_runner(output)
