"""No module that a run may write is imported outside the sandbox."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from manus.calls.user_tools import load_user_tool
from manus.config.safety_settings import SandboxSettings
from manus.config.settings import Settings
from manus.sandbox.own_code import find_own_code
from manus.state.errors import ToolUnavailableError
from manus.tools.bash import Bash
from tests.helpers.sandboxes import Kind
from tests.helpers.sessions import session_in

ROOT = Path(__file__).parents[2]
PROGRAM = """
import importlib.util, sys
from manus.cli.entry import main
main(["--version"])
import manus.graph.agent
sys.exit(importlib.util.find_spec("planted") is not None)
"""


@pytest.mark.parametrize("start", [["-c", PROGRAM], ["-m", "runner"]], ids=["-c", "-m"])
def test_the_current_folder_is_not_searched(tmp_path: Path, start: list[str]) -> None:
    (tmp_path / "planted.py").write_text("")
    (tmp_path / "runner.py").write_text(PROGRAM)
    process = subprocess.run([sys.executable, *start], cwd=tmp_path, capture_output=True, text=True)
    assert process.returncode == 0, process.stderr


def test_the_checkout_is_not_searched() -> None:
    program = PROGRAM.replace('"planted"', '"benchmarks"')
    process = subprocess.run(
        [sys.executable, "-c", program], cwd="/", capture_output=True, text=True
    )
    assert process.returncode == 0, process.stderr


def test_the_folder_of_a_users_tool_is_searched_while_it_is_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "users_tool.py").write_text("import users_helper\n\ndef hello(): ...\n")
    (tmp_path / "users_helper.py").write_text("")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path])
    before = list(sys.path)
    assert load_user_tool("users_tool:hello").__name__ == "hello"
    assert sys.path == before


ENVIRONMENT = Path(sys.prefix)
CODE = ("manus", "tools", "graph", *([ENVIRONMENT.name] if ENVIRONMENT.parent == ROOT else []))
"""Files that a shell call must not change in a checkout that is the workspace."""


@pytest.mark.sandboxes("bubblewrap")
async def test_a_shell_call_changes_no_code_of_a_checkout(sandbox_kind: Kind) -> None:
    session = session_in(ROOT, settings=Settings(sandbox=SandboxSettings(kind=sandbox_kind)))
    bash = Bash(session=session)
    targets = " ".join(f"{name}/planted.py" for name in CODE)
    try:
        observation = await bash.observe(command=f"for f in {targets}; do : > $f; done; true")
        planted = [name for name in CODE if (ROOT / name / "planted.py").exists()]
    finally:
        await session.close()
        for name in CODE:
            (ROOT / name / "planted.py").unlink(missing_ok=True)
    assert planted == []
    assert observation.text.count("Read-only file system") == len(CODE)


@pytest.mark.sandboxes("landlock")
async def test_no_program_is_started_where_code_cannot_be_protected(
    sandbox_kind: Kind, tmp_path: Path
) -> None:
    (tmp_path / "manus.toml").write_text('tools = ["mytool:hello"]\n')
    (tmp_path / "mytool.py").write_text("")
    session = session_in(tmp_path, settings=Settings(sandbox=SandboxSettings(kind=sandbox_kind)))
    with pytest.raises(ToolUnavailableError, match=r"mytool\.py.*Landlock.*--workspace"):
        await Bash(session=session).observe(command="true")
    await session.close()


def test_the_code_of_a_checkout_is_found(tmp_path: Path, subtests: pytest.Subtests) -> None:
    result = find_own_code(ROOT)
    own = Path(load_user_tool.__code__.co_filename)
    for path in (*(ROOT / name for name in CODE), ROOT / "manus" / "cli.py", own):
        with subtests.test(path=path):
            assert any(path.resolve().is_relative_to(folder.resolve()) for folder in result), path
    assert find_own_code(tmp_path) == []


def test_the_code_that_settings_name_is_found(tmp_path: Path) -> None:
    (tmp_path / "manus.toml").write_text('[profiles.mine]\ntools = ["mytool:hello"]\n')
    (tmp_path / "mytool.py").write_text("import helper\n")
    (tmp_path / "helper.py").write_text("")
    (tmp_path / "other.py").write_text("")
    assert find_own_code(tmp_path) == [tmp_path / "helper.py", tmp_path / "mytool.py"]
