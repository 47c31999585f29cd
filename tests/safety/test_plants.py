"""Nothing that a program leaves in a workspace is started later by a program of the user.

Each row is an attempt of one kind; half of them are races or outlive their call. They share a few
sandboxes. A canary is a file that counts as planted: it must be gone, or as it was, after the last
look.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from manus.config.mcp_settings import McpServer
from manus.config.safety_settings import SandboxSettings
from manus.config.settings import Settings
from manus.sandbox.host_programs import find_host_path, find_host_program
from manus.state.errors import ToolUnavailableError
from manus.tools.bash import Bash
from manus.tools.mcp.transport import connect
from manus.tools.python_execute import PythonExecute
from tests.helpers.sandboxes import Kind
from tests.helpers.sessions import session_in

SANDBOXES = pytest.mark.sandboxes("bubblewrap", "landlock")
EVIL = "printf '[core]\\n\\tfsmonitor = ./canary\\n'"
WRITTEN = {
    "a task of an editor": "mkdir -p .vscode; echo canary > .vscode/tasks.json",
    "in another letter case": "mkdir -p .VSCode; echo canary > .VSCode/tasks.json",
    "in a folder below": "mkdir -p a/b/.idea; echo canary > a/b/.idea/x.xml",
    "an unknown dot file": "echo canary > .newtoolrc",
    "an unknown dot folder": "mkdir -p .newtool/x; echo canary > .newtool/x/run",
    "above a repository": "git init -q deep/er; echo canary > deep/.tool; echo canary > deep/er/.t",
    "a link": "echo canary > x; ln -s x .envrc",
    "a link to a folder": "mkdir y; echo canary > y/tasks.json; ln -s y .fleet",
    "a file of many megabytes": "(echo canary; head -c 9000000 /dev/zero) > .bashrc",
    "a sparse file above the limit": "echo canary > .zshrc; truncate -s 70M .zshrc",
    "a hard link": "echo canary > z; ln z .profile",
    "a renamed file": "echo canary > q; mv q .npmrc",
    "an exchanged folder": "mkdir s; echo canary > s/settings.json; mv s .claude",
    "a module that each Python imports": "echo canary > sitecustomize.py",
    "a workspace of an editor": "echo canary > my.code-workspace",
    "a hook in a new repository": "git init -q n1; echo canary > n1/.git/hooks/post-checkout",
    "a setting in a new repository": f"git init -q n2; {EVIL} >> n2/.git/config",
    "an included file": "git init -q n3; git -C n3 config include.path ../canary",
    "a hooks folder": "git init -q n4; git -C n4 config core.hooksPath canary",
    "an alias": "git init -q n5; git -C n5 config alias.st '!canary'",
    "a filter": "git init -q n6; git -C n6 config filter.x.clean canary",
    "a bare repository": f"git init -q --bare n7; {EVIL} >> n7/config",
    "a bare repository by another name": f"git init -q --bare n8; mv n8 n9; {EVIL} >> n9/config",
    "a common directory": "git init -q n10; echo ../../canary > n10/.git/commondir",
    "a remote that is a program": "git init -q n11; git -C n11 config remote.o.url 'ext::canary'",
    "a file that leads elsewhere": (
        f"git init -q --bare g; {EVIL} >> g/config; mkdir n12; echo gitdir: ../g > n12/.git"
    ),
    "a rebase that goes on": (
        "git init -q n13; mkdir n13/.git/rebase-merge; "
        "echo 'exec canary' > n13/.git/rebase-merge/git-rebase-todo"
    ),
    "a nested module": f"git init -q n14; mkdir -p n14/.git/modules; git init -q --bare "
    f"n14/.git/modules/a/b; {EVIL} >> n14/.git/modules/a/b/config",
}
LATE = {
    "a job after the call": "(sleep 0.3; echo canary > .envrc) & disown",
    "a session of its own": "setsid sh -c 'sleep 0.3; echo canary > .envrc' &",
    "an orphan": "(setsid sh -c 'sleep 0.3; echo canary > .envrc' &) ; true",
    "a loop of the shell": "(for i in $(seq 3000); do :; done; echo canary > .envrc) &",
    "many forks": "(for i in $(seq 40); do (sleep 0.2; echo canary > .env.$i) & done) &",
    "a chain of forks": (
        "f() { sleep 0.05; [ $1 = 0 ] && echo canary > .envrc || f $(($1-1)) & }; f 5"
    ),
    "a job that writes again and again": "(while :; do echo canary > .envrc; done) &",
    "a job that swaps folders": (
        "(mkdir s t; echo canary > s/x; while :; do mv s .vscode; mv .vscode s; done) 2>/dev/null &"
    ),
    "a trap": "trap 'echo canary > .envrc' EXIT",
    "a stopped job": "(kill -STOP $BASHPID; echo canary > .envrc) & sleep 0.1; kill -CONT $!",
    "a job that ignores signals": "(trap '' TERM HUP INT; sleep 0.3; echo canary > .envrc) &",
    "an open descriptor": "exec 7> early; (sleep 0.3; echo canary >&7; mv early .envrc) &",
    "a hook of a clone": "git init -q c; (sleep 0.3; echo canary > c/.git/hooks/pre-commit) &",
    "a setting of a clone": f"git init -q d; (sleep 0.3; {EVIL} >> d/.git/config) &",
    "a report that is forged": (
        "for n in 1 2 3 4 5 6 7 8 9; do for f in /proc/$$/fd/2??; do "
        'printf "%s 0 $PWD\\\\n\\\\0" $n > $f; done; done 2>/dev/null; '
        "sleep 0.3; echo canary > .envrc"
    ),
}


def planted(root: Path) -> set[str]:
    """Return the files with a canary that a program of the user may start."""
    found = set()
    for path in root.rglob("*"):
        parts = path.relative_to(root).parts
        is_dot = any(part.startswith(".") for part in parts)
        is_pattern = path.name in ("sitecustomize.py", "config") or path.suffix == ".code-workspace"
        if parts[0] == ".manus" or not (is_dot or is_pattern):
            continue
        if path.is_symlink() or (path.is_file() and b"canary" in path.read_bytes()[:4096]):
            found.add(str(path))
    return found


@SANDBOXES
async def test_what_a_call_has_written(
    tmp_path: Path, sandbox_kind: Kind, subtests: pytest.Subtests
) -> None:
    session = session_in(
        tmp_path / "work", settings=Settings(sandbox=SandboxSettings(kind=sandbox_kind))
    )
    try:
        for name, script in WRITTEN.items():
            with subtests.test(name=name):
                observation = await Bash(session=session).observe(command=script)
                assert planted(session.workspace.root) == set(), observation.text
                assert "taken out" in observation.text
    finally:
        await session.close()


@SANDBOXES
@pytest.mark.parametrize("ends", ["with the session", "with a call"])
async def test_what_outlives_its_call(
    tmp_path: Path, sandbox_kind: Kind, ends: str, subtests: pytest.Subtests
) -> None:
    settings = Settings(sandbox=SandboxSettings(kind=sandbox_kind))
    for number, (name, script) in enumerate(LATE.items()):
        with subtests.test(name=name):
            session = session_in(tmp_path / str(number), settings=settings)
            try:
                await Bash(session=session).observe(command=script)
                if ends == "with a call":
                    await PythonExecute(session=session).observe(code="import time; time.sleep(.5)")
            finally:
                await session.close()
            assert planted(session.workspace.root) == set()


KILLED = """
import asyncio, os, signal, sys
from pathlib import Path
from manus.config.safety_settings import SandboxSettings
from manus.config.settings import Settings
from manus.tools.bash import Bash
from tests.helpers.sessions import session_in

async def main():
    settings = Settings(sandbox=SandboxSettings(kind=sys.argv[2]))
    bash = Bash(session=session_in(Path(sys.argv[1]), settings=settings))
    await bash.observe(command="true")
    task = asyncio.create_task(bash.observe(command="echo canary > .envrc; touch done; sleep 60"))
    while not Path(sys.argv[1], "done").exists():
        await asyncio.sleep(0.01)
    os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(main())
"""


@SANDBOXES
async def test_the_next_run_looks_first_after_a_kill(tmp_path: Path, sandbox_kind: Kind) -> None:
    root = tmp_path / "work"
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", KILLED, str(root), sandbox_kind),
        cwd=Path(__file__).parents[2],
    )
    assert await process.wait() == -signal.SIGKILL
    assert (root / ".envrc").exists()
    settings = Settings(sandbox=SandboxSettings(kind=sandbox_kind))
    session = session_in(root, settings=settings)
    try:
        await Bash(session=session).observe(command="true")
        assert planted(root) == set()
        assert list((session.workspace.records / "held").rglob(".envrc"))
    finally:
        await session.close()
    assert not list((session.workspace.records / "looks").iterdir())


@pytest.mark.parametrize("folder", [".venv/bin", "bin", "sub/../bin"])
def test_a_program_of_an_earlier_workspace_is_not_started(
    tmp_path: Path, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "work"
    session_in(root)
    (root / "sub").mkdir()
    program = root / folder / "git"
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    link = tmp_path / "links"
    link.mkdir()
    (link / "git").symlink_to(program)
    monkeypatch.setenv("PATH", f"{root / folder}{os.pathsep}{link}{os.pathsep}/usr/bin")
    assert find_host_program("git") == shutil.which("git", path="/usr/bin")
    assert subprocess.run([str(find_host_program("git")), "--version"], check=True).returncode == 0
    assert str(root) not in find_host_path()


@pytest.mark.parametrize("name", ["server", "node"])
async def test_an_mcp_server_starts_no_program_of_an_earlier_workspace(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither as its command nor as what a script of the user's starts by name."""
    root = tmp_path / "work"
    session = session_in(root)
    programs = tmp_path / "programs"
    programs.mkdir()
    for path, text in {
        root / name: f"#!/bin/sh\ntouch {tmp_path}/ran\n",
        programs / "server": "#!/usr/bin/env node\n",
    }.items():
        path.write_text(text)
        path.chmod(0o755)
    folders = [root, programs] if name == "node" else [root]
    monkeypatch.setenv("PATH", os.pathsep.join([*map(str, folders), "/usr/bin"]))
    server = McpServer(command="server", sandbox=False)
    try:
        with pytest.raises((ToolUnavailableError, anyio.EndOfStream, ExceptionGroup)):
            async with connect(server, session) as ((reading, _), _):
                await reading.receive()
    finally:
        await session.close()
    assert not (tmp_path / "ran").exists()
