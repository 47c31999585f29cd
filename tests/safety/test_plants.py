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
from tests.helpers.processes import until
from tests.helpers.sandboxes import Kind
from tests.helpers.sessions import session_in

SANDBOXES = pytest.mark.sandboxes("bubblewrap")
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
    "a name with a line break": "mkdir -p $'.x\\ny'; echo canary > $'.x\\ny/run'",
    "a name of undecodable bytes": "echo canary > $'.tool\\xff'",
    "a name that looks empty": "echo canary > $'.\\u200b'",
    "a folder with the name of an inert file": "mkdir .gitignore.d; echo canary > .gitignore.d/x",
    "a folder above a new repository": "mkdir -p p/q; echo canary > p/.t; git init -q p/q",
    "a deep folder of an editor": "mkdir -p $(printf 'd/%.0s' $(seq 60)).vscode; "
    "echo canary > $(printf 'd/%.0s' $(seq 60)).vscode/tasks.json",
    "a folder that cannot be listed": "mkdir -p l/.idea; echo canary > l/.idea/x; chmod 0 l/.idea",
    "a folder that cannot be written": "mkdir .zed; echo canary > .zed/x; chmod 500 .zed",
    "folders that cannot be listed": "mkdir -p l2/l3/.fleet; echo canary > l2/l3/.fleet/x; "
    "chmod 0 l2/l3/.fleet l2/l3 l2",
    "a file that cannot be read": "echo canary > .mcp.json; chmod 0 .mcp.json",
    "a chain of links": "echo canary > k; ln -s k k1; ln -s k1 .exrc",
    "a link to itself": "echo canary > k2; ln -s .vimrc .vimrc",
    "a moved hook": "git init -q n15; echo canary > h; mv h n15/.git/hooks/post-checkout",
    "a linked hooks folder": (
        "git init -q n16; mkdir hh; echo canary > hh/pre-commit; rm -rf n16/.git/hooks; "
        "ln -s ../../hh n16/.git/hooks"
    ),
    "attributes with a driver": (
        "git init -q n17; echo '* merge=x' > n17/.git/info/attributes; "
        "git -C n17 config merge.x.driver canary"
    ),
    "a shell as an editor": "git init -q n18; git -C n18 config sequence.editor canary",
    "a conditional include": "git init -q n19; git -C n19 config includeIf.gitdir:/.path ../canary",
    "a worktree's settings": (
        f"git init -q n20; git -C n20 config extensions.worktreeConfig true; "
        f"{EVIL} >> n20/.git/config.worktree"
    ),
    "a revert with a command": (
        "git init -q n21; mkdir n21/.git/sequencer; echo 'exec canary' > n21/.git/sequencer/todo"
    ),
    "a reused repository": (
        f"git init -q n22; {EVIL} >> n22/.git/config; mv n22/.git n22/git; "
        "echo gitdir: git > n22/.git"
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
    "a traced job": (
        "python3 -c \"import os, time; time.sleep(.3); open('.envrc', 'w').write('canary')\" & "
        "strace -qq -o /dev/null -p $! 2>/dev/null &"
    ),
    "a job that its tracer resumes": "python3 tracer.py & sleep 0.1",
    "a job that resumes others": (
        "(sleep 0.2; echo canary > .envrc) & (while :; do kill -CONT -1; done) 2>/dev/null &"
    ),
    "a job with threads": (
        'python3 -c "import threading, time; w = lambda: (time.sleep(.3), '
        "open('.envrc', 'w').write('canary')); [threading.Thread(target=w).start() "
        'for _ in range(9)]" &'
    ),
    "a vfork that waits": (
        "python3 -c \"import os, time; os.posix_spawn('/bin/sh', ['sh', '-c', "
        "'sleep 0.3; echo canary > .envrc'], os.environ)\" &"
    ),
    "a writer through a map": (
        "truncate -s 6 m; python3 -c \"import mmap, os, time; f = os.open('m', 2); "
        "m = mmap.mmap(f, 6); os.rename('m', '.envrc'); time.sleep(.3); m[:] = b'canary'\" &"
    ),
    "a descriptor on a folder": (
        "mkdir fd; (cd fd; mkdir ../.zed; mv ../fd ../.zed/x; sleep 0.3; echo canary > y) &"
    ),
    "a folder that is exchanged in a loop": (
        "mkdir -p e/.idea f; echo canary > e/.idea/x; "
        "(while :; do mv e g; mv f e; mv g f; done) 2>/dev/null &"
    ),
    "a link that is exchanged in a loop": (
        "echo canary > c1; (while :; do ln -sfn c1 .envrc; rm -f .envrc; done) 2>/dev/null &"
    ),
    "a job that waits for the look": (
        "(while :; do test -e .manus && echo canary > .bashrc; done) 2>/dev/null &"
    ),
    "a job that fills the processes": (
        "(for i in $(seq 200); do (while :; do echo canary > .env.$i; sleep 0.01; done) & done) "
        "2>/dev/null &"
    ),
    "a job in another group": "set -m; (sleep 0.3; echo canary > .envrc) & set +m",
    "a coprocess": "coproc (sleep 0.3; echo canary > .envrc)",
    "a substitution": "exec 8> >(sleep 0.3; echo canary > .envrc)",
    "an own init that survives": (
        "(python3 -c \"open('/proc/1/mem', 'r+b')\" || true; sleep 0.3; echo canary > .envrc) &"
    ),
    "a clock": "(sleep 0.3 && touch -d '2000-01-01' .envrc && echo canary > .envrc) &",
    "a repository that appears": (f"(sleep 0.2; git init -q late; {EVIL} >> late/.git/config) &"),
    "a repository that is moved": (
        f"git init -q mv1; (sleep 0.2; {EVIL} >> mv1/.git/config; mv mv1 mv2) &"
    ),
    "a report that is forged": (
        "for n in 1 2 3 4 5 6 7 8 9; do for f in /proc/$$/fd/2??; do "
        'printf "%s 0 $PWD\\\\n\\\\0" $n > $f; done; done 2>/dev/null; '
        "sleep 0.3; echo canary > .envrc"
    ),
}
TRACER = """
import ctypes, os, signal, time
trace = ctypes.CDLL(None).ptrace
child = os.fork()
if child == 0:
    trace(0, 0, 0, 0)
    os.kill(os.getpid(), signal.SIGSTOP)
    while True:
        open(".envrc", "w").write("canary")
os.waitpid(child, 0)
while True:
    trace(7, child, 0, 0)
"""
"""Resumes a traced process without the signal that stops it."""


def planted(root: Path) -> set[str]:
    """Return the files with a canary that a program of the user may start."""
    found = set()
    for path in root.rglob("*"):
        parts = path.relative_to(root).parts
        is_dot = any(part.startswith(".") for part in parts)
        is_pattern = path.name in ("sitecustomize.py", "config") or path.suffix == ".code-workspace"
        if parts[0] in (".manus", "tracer.py") or not (is_dot or is_pattern):
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
    at_once = asyncio.Semaphore(6)

    async def leave(root: Path, script: str) -> set[str]:
        async with at_once:
            session = session_in(root, settings=settings)
            (session.workspace.root / "tracer.py").write_text(TRACER)
            try:
                await Bash(session=session).observe(command=script)
                if ends == "with a call":
                    await PythonExecute(session=session).observe(code="import time; time.sleep(.5)")
            finally:
                await session.close()
            return planted(session.workspace.root)

    attempts = (leave(tmp_path / str(n), script) for n, script in enumerate(LATE.values()))
    for name, left in zip(LATE, await asyncio.gather(*attempts), strict=True):
        with subtests.test(name=name):
            assert left == set()


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


@SANDBOXES
async def test_what_an_mcp_server_writes_between_two_calls(
    tmp_path: Path, sandbox_kind: Kind
) -> None:
    settings = Settings(sandbox=SandboxSettings(kind=sandbox_kind))
    session = session_in(tmp_path / "work", settings=settings)
    root = session.workspace.root
    script = f"until test -e {root}/go; do sleep 0.05; done; echo canary > {root}/.envrc; cat"
    try:
        async with connect(McpServer(command="sh", args=("-c", script)), session):
            await Bash(session=session).observe(command="true")
            (root / "go").touch()
            await until(lambda: (root / ".envrc").exists())
            observation = await Bash(session=session).observe(command="true")
            assert planted(root) == set(), observation.text
    finally:
        await session.close()


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
