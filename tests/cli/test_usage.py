"""Wrong usage and configuration: exit code 2, one sentence, and nothing is started."""

import base64
import re
import shlex
import subprocess
import sys
from collections.abc import Callable

import pytest

from manus import __version__
from tests.cli.program import Program, Result
from tests.helpers.child import ROOT
from tests.helpers.tools import RED_DOT
from tests.server import ScriptedServer, text


def _sentence(result: Result) -> str:
    assert (result.code, result.out, result.err.count("\n")) == (2, "", 1)
    assert result.err.startswith("manus: ")
    return result.err


def test_help_imports_nothing_slow(bare: Program) -> None:
    code = (
        "import sys; from manus.cli.entry import main\n"
        "try: main(['run', '--help'])\n"
        "except SystemExit: pass\n"
        "slow = {'langgraph', 'langchain_core', 'openai', 'pydantic', 'rich', 'asyncio', 'httpx'}\n"
        "print('imported:', sorted(slow & set(sys.modules)))"
    )
    process = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (process.returncode, process.stderr) == (0, "")
    assert "--max-steps" in process.stdout
    assert process.stdout.endswith("imported: []\n")


def test_what_a_run_does_not_use_is_not_imported() -> None:
    code = (
        "import sys; from manus.cli import startup; startup.load(); "
        "from pathlib import Path; from manus.graph.profiles import find_profile; "
        "from manus.calls.catalog import build_catalog; "
        "from manus.calls.session import Session; "
        "from manus.workspace.workspace import Workspace; "
        "tools = build_catalog(find_profile('manus').tools, Session(Workspace(Path.cwd()))); "
        "assert tools.schemas(); "
        "left = {'httpx', 'langsmith.types.run', 'langchain_openai.embeddings', 'playwright'}; "
        "assert not left & set(sys.modules), left & set(sys.modules); "
        "from langgraph_sdk import get_client; from langchain_openai import OpenAIEmbeddings; "
        "import langsmith.types; langsmith.types.Run; get_client(url='http://127.0.0.1:9'); "
        "print(type(sys.modules['langgraph_sdk']).__name__)"
    )
    process = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60
    )
    assert (process.stdout, process.stderr) == ("module\n", "")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("fly", "'fly'; `manus --help`"),
        ("runn x", "'runn' (did you mean run?); `manus --help`"),
        ("run --modle=x y", "'--modle' (did you mean --model?); `manus run --help`"),
        ("threads delete x", "(delete x); `manus threads --help`"),
        ("run --max-steps 0 x", "'--max-steps': 0 "),
        ("resume", "THREAD"),
        ("resume a --thread b", "a and b are different threads"),
        ("run --thread '' x", "is not a valid thread id"),
        ("threads --limit -1", "--limit"),
        ("resume nowhere", "no thread nowhere"),
        ("threads --delete nowhere", "no thread nowhere"),
    ],
)
def test_wrong_usage(typed: Callable[..., Result], line: str, message: str) -> None:
    result = typed(*shlex.split(line))
    assert message in _sentence(result)
    assert "nowhere" in line or "--help` shows the usage" in result.err


def test_no_command_summary_is_truncated(
    typed: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each fits whole in 80 columns."""
    monkeypatch.setenv("COLUMNS", "80")
    lines = typed("--help").out.splitlines()
    commands = lines[lines.index("Commands:") + 1 :]
    cut = [line for line in commands if line.endswith("...")]
    assert (cut, max(map(len, lines)) <= 80) == ([], True)


def test_help_version_and_a_drawing(typed: Callable[..., Result]) -> None:
    helped = typed("--help")
    assert (helped.code, helped.err) == (0, "")
    words = {"run", "resume", "threads", "show", "graph", "doctor", "--version"}
    assert words <= set(helped.out.split())
    assert typed().out == typed("help").out == helped.out
    assert typed("help", "run").out == typed("run", "--help").out
    assert typed("--version").out == f"manus {__version__}\n"
    diagram = typed("graph")
    assert (diagram.code, diagram.err) == (0, "")
    assert {"graph", "TD;"} <= set(diagram.out.split())


def test_no_request_and_no_model(bare: Program, subtests: pytest.Subtests) -> None:
    for arguments in (["run"], ["run", ""], ["run", "-"]):
        with subtests.test(arguments=arguments):
            assert "There is no request" in _sentence(bare(*arguments, stdin=" \n\t\n"))
    assert "No model is configured: run `manus setup`" in _sentence(bare("run", "hello"))
    assert not bare.workspace.exists()
    (bare.home / "file").write_text("")
    model = {"MANUS_MODEL": "m", "MANUS_BASE_URL": "http://127.0.0.1:9/v1"}
    refused = bare("run", "hi", "--workspace", "file/below", **model)
    assert "--workspace or MANUS_WORKSPACE" in _sentence(refused)


def _list_readme_commands() -> list[str]:
    text = (ROOT / "README.md").read_text("utf-8")
    lines = re.findall(r"^\$ (?:.* \| )?\.venv/bin/manus (.*)$", text, re.MULTILINE)
    return [line.partition("#")[0].partition(" | ")[0].strip() for line in lines]


def test_the_commands_of_the_readme_run(
    manus: Program, server: ScriptedServer, subtests: pytest.Subtests
) -> None:
    server.always(text("done")).allow_unused()
    for _ in range(3):  # one step each
        assert manus("run", "--thread", "THREAD", "hello").code == 0
    assert len(_list_readme_commands()) >= 7
    (manus.home / "notes.txt").write_text("a note")
    (manus.home / "plan.png").write_bytes(base64.b64decode(RED_DOT))
    for command in _list_readme_commands():
        with subtests.test(command=command):
            if command == "ui":
                continue  # it serves until it is stopped
            result = manus(*shlex.split(command))
            # without a terminal there are no answers; a finished thread has no question
            refused = command == "setup" or "--answer" in command
            # the scripted model replies without the tool call that `doctor` tries
            code = 2 if refused else 1 if command == "doctor" else 0
            assert result.code == code, (command, result)
            assert "Traceback" not in result.err
