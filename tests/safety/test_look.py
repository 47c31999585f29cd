"""Files that programs outside the sandbox would start do not outlive the call that wrote them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from manus.calls.session import Session
from manus.config.safety_settings import SandboxSettings
from manus.config.settings import Settings
from manus.tools.bash import Bash
from manus.tools.python_execute import PythonExecute
from tests.helpers.sandboxes import Kind
from tests.helpers.sessions import session_in

SANDBOXES = pytest.mark.sandboxes("bubblewrap")
NAMES = (
    *(".vscode/tasks.json", ".idea/workspace.xml", ".envrc", ".mcp.json", ".claude/settings.json"),
    *(".husky/pre-commit", ".pre-commit-config.yaml", ".github/workflows/ci.yml", ".bashrc"),
    *(".env", "manus.toml", ".npmrc", "sub/.vscode/tasks.json", ".gitlab-ci.yml", "sub/.envrc"),
    "sitecustomize.py",
)
WRITE = "mkdir -p $(dirname {0}) && echo id > {0}"


@pytest.fixture
async def session(tmp_path: Path, sandbox_kind: Kind) -> AsyncIterator[Session]:
    session = session_in(tmp_path, settings=Settings(sandbox=SandboxSettings(kind=sandbox_kind)))
    yield session
    await session.close()


def files_in(root: Path) -> set[str]:
    paths = (path.relative_to(root) for path in root.rglob("*") if not path.is_dir())
    return {str(path) for path in paths if path.parts[0] != ".manus"}


@SANDBOXES
async def test_new_files_are_taken_out(session: Session) -> None:
    root = session.workspace.root
    command = "\n".join(WRITE.format(name) for name in NAMES)
    observation = await Bash(session=session).observe(command=f"{command}\necho id > kept.txt")
    assert files_in(root) == {"kept.txt"}
    assert "str_replace_editor" in observation.text
    names = {path.name for path in (session.workspace.records / "held").rglob("*")}
    assert {"tasks.json", ".envrc", "ci.yml"} <= names


@SANDBOXES
async def test_existing_files_stay_unchanged(session: Session) -> None:
    root = session.workspace.root
    for name in NAMES:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("mine\n")
    code = (
        "import os, shutil\n"
        f"for name in {NAMES!r}:\n"
        "    for do in (lambda: open(name, 'a').write('id'), lambda: os.remove(name)):\n"
        "        try: do()\n"
        "        except OSError: pass\n"
        "shutil.rmtree('.vscode', ignore_errors=True)\n"
        "try: open('.envrc', 'w').write('changed')\n"
        "except OSError: pass"
    )
    await PythonExecute(session=session).observe(code=code)
    assert not (session.workspace.records / "held").exists()
    assert {(root / name).read_text() for name in NAMES} == {"mine\n"}


@pytest.mark.sandboxes("landlock")
async def test_the_fallback_takes_nothing_out(session: Session) -> None:
    """It cannot keep programs from writing, so what it puts back would only seem safe."""
    root = session.workspace.root
    (root / ".envrc").write_text("mine\n")
    command = "mkdir .vscode; echo id > .vscode/tasks.json; echo theirs > .envrc"
    observation = await Bash(session=session).observe(command=command)
    assert "taken out" not in observation.text
    assert files_in(root) == {".vscode/tasks.json", ".envrc"}
    assert (root / ".envrc").read_text() == "theirs\n"
    assert not (session.workspace.records / "held").exists()
    assert not (session.workspace.records / "looks").exists()


@SANDBOXES
async def test_a_repository_works_and_starts_nothing(session: Session) -> None:
    root = session.workspace.root
    make = (
        "git init -q a && cd a && git config user.email a@b.example && git config user.name A && "
        "echo x > f && git add f && git commit -qm First && git log --format=%s"
    )
    observation = await Bash(session=session).observe(command=make)
    assert observation.text.startswith("First")
    assert (root / "a" / ".git" / "HEAD").exists()
    plant = (
        "cd $OLDPWD; git init -q b; echo id > b/.git/hooks/pre-commit; git init -q c; "
        "git -C c config core.fsmonitor id; echo ../x > a/.git/commondir"
    )
    observation = await Bash(session=session).observe(command=plant)
    assert "taken out" in observation.text
    assert not (root / "b" / ".git" / "hooks" / "pre-commit").exists()
    assert "fsmonitor" not in (root / "c" / ".git" / "config").read_text()
    assert not (root / "a" / ".git" / "commondir").exists()


@SANDBOXES
async def test_a_new_file_in_an_existing_folder(session: Session) -> None:
    root = session.workspace.root
    (root / ".vscode").mkdir()
    (root / ".vscode" / "settings.json").write_text("mine\n")
    await Bash(session=session).observe(command="echo id > .vscode/tasks.json")
    assert files_in(root) == {".vscode/settings.json"}


@SANDBOXES
async def test_files_that_the_user_creates_between_calls_stay(session: Session) -> None:
    bash, root = Bash(session=session), session.workspace.root
    await bash.observe(command="true")
    (root / ".envrc").write_text("mine\n")
    await bash.observe(command="cat .envrc")
    assert (root / ".envrc").read_text() == "mine\n"
