"""Whatever a program tries, nothing outside its workspace is read, changed, reached or ended."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import itertools
import os
import platform
import secrets
import select
import shutil
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile

import psutil
import pytest

from manus.config.browser_settings import EgressSettings
from manus.config.safety_settings import SandboxSettings
from manus.sandbox.egress import EgressRules
from manus.sandbox.egress_proxy import EgressProxy
from manus.sandbox.process import end, start
from manus.sandbox.sandbox import Sandbox, open_sandbox
from tests.helpers.processes import until
from tests.helpers.sandboxes import Kind
from tests.safety.escape.attempts import ALL

LEFT_BY_LANDLOCK = {name for name in ALL if name.startswith(("repository", "records"))} | {
    *("write: a mode", "write: a time")
}
"""Landlock has no exceptions inside a writable folder, and does not control modes and
times."""
WATCHED = (
    *("/etc/ld.so.preload", "/etc/ld.so.cache", "/etc/cron.d/x", "/usr/local/bin/x", "/usr/bin/x"),
    "/root/.bashrc",
)
CALL = (
    "import ctypes, platform, sys; x, a, *rest = map(int, sys.argv[1:]); "
    "n = x if platform.machine() == 'x86_64' else a; "
    "print('THROUGH' if ctypes.CDLL(None).syscall(n, *rest) >= 0 else '')"
)


@dataclass
class Outside:
    """The targets of an escape: a secret, a process that has it, servers, files of the system."""

    folder: Path
    workspace: Path
    token: str
    process: subprocess.Popen[bytes]
    servers: dict[str, socket.socket]
    terminal: tuple[int, int]
    """A terminal of the user: the side of its window, and that of its programs."""
    shared: int
    """The id of the user's shared memory."""

    def words(self) -> dict[str, object]:
        """Return the values of the placeholders in a script."""
        return {
            "secret": self.folder / "secret",
            "outside": self.folder,
            "pid": self.process.pid,
            "tcp": self.servers["tcp"].getsockname()[1],
            "udp": self.servers["udp"].getsockname()[1],
            "unix": self.servers["unix"].getsockname(),
            "mailbox": self.servers["mailbox"].getsockname(),
            "abstract": self.servers["abstract"].getsockname().decode()[1:],
            "address": own_address(),
            "terminal": os.ttyname(self.terminal[1]),
            "shared": self.shared,
            "python": sys.executable,
            "call": f'{sys.executable} -c "{CALL}"',
            "clone": 56 if platform.machine() == "x86_64" else 220,
        }

    def state(self) -> dict[str, object]:
        """Return everything that must not change."""
        files = [self.folder, *sorted(self.folder.rglob("*")), *map(Path, WATCHED)]
        records, git = self.workspace / ".manus", self.workspace / ".git"
        files += [records, *records.rglob("*")]
        files += [self.workspace / name for name in (".env", "manus.toml")]
        stamps: dict[str, object] = {str(path): stamp(path) for path in files}
        stamps["hooks"] = sorted(path.name for path in (git / "hooks").glob("*"))
        stamps["settings"] = (git / "config").read_text() if (git / "config").exists() else None
        stamps["the process"] = self.process.poll()
        stamps["its score"] = Path(f"/proc/{self.process.pid}/oom_score_adj").read_text()
        return stamps

    def take_messages(self) -> list[str]:
        waiting = select.select([*self.servers.values()], [], [], 0)[0]
        for server in waiting:
            if server.type == socket.SOCK_STREAM:
                server.accept()[0].close()
            else:
                server.recv(99)
        names = [name for name, server in self.servers.items() if server in waiting]
        window = self.terminal[0]
        if select.select([window], [], [], 0)[0]:
            os.read(window, 99)
            names.append("the terminal")
        return names


def stamp(path: Path) -> object:
    try:
        now = path.stat()
    except (FileNotFoundError, PermissionError):
        return None
    return now.st_ino, now.st_mode, now.st_size, now.st_mtime_ns


def own_address() -> str:
    """Return an address of this machine, other than loopback if possible."""
    addresses = itertools.chain(*psutil.net_if_addrs().values())
    ours = [str(address.address) for address in addresses if address.family == socket.AF_INET]
    return max(ours, key=lambda address: not address.startswith("127."))


LIBC = ctypes.CDLL(None)
IPC_CREAT, IPC_RMID = 0o1000, 0


def shared_memory() -> int:
    return int(LIBC.shmget(secrets.randbelow(2**31), 4096, IPC_CREAT | 0o600))


@contextlib.contextmanager
def laid_out(tmp_path: Path) -> Iterator[Outside]:
    folder, workspace = tmp_path / "outside", tmp_path / "workspace"
    folder.mkdir(parents=True)
    workspace.mkdir()
    subprocess.run(["git", "init", "-q", workspace], check=True)
    (workspace / ".manus").mkdir()
    (workspace / ".manus" / "journal").write_text("an entry\n")
    (workspace / ".env").write_text("KEY=1\n")
    (workspace / "manus.toml").write_text("")
    token = f"token-{secrets.token_hex(8)}"
    (folder / "secret").write_text(token)
    servers = {
        "tcp": socket.create_server(("", 0)),
        "udp": socket.socket(socket.AF_INET, socket.SOCK_DGRAM),
        "unix": socket.socket(socket.AF_UNIX),
        "abstract": socket.socket(socket.AF_UNIX),
        "mailbox": socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM),
    }
    servers["udp"].bind(("", 0))
    servers["unix"].bind(str(tmp_path / "socket"))
    servers["mailbox"].bind(str(tmp_path / "mailbox"))
    servers["abstract"].bind(f"\0manus-{secrets.token_hex(4)}")
    for name in ("unix", "abstract"):
        servers[name].listen()
    process = subprocess.Popen(
        ["bash", "-c", f"exec 9<>{folder}/secret; exec -a canary-process sleep 600"],
        env={"TOKEN": token, "PATH": os.environ["PATH"]},
        cwd=folder,
    )
    terminal = os.openpty()
    shared = shared_memory()
    try:
        yield Outside(folder, workspace, token, process, servers, terminal, shared)
    finally:
        LIBC.shmctl(shared, IPC_RMID, None)
        for descriptor in terminal:
            os.close(descriptor)
        process.kill()
        process.wait()
        for server in servers.values():
            server.close()


@contextlib.asynccontextmanager
async def behind(wall: str, folder: Path) -> AsyncIterator[tuple[Outside, Sandbox]]:
    settings = SandboxSettings.model_validate({"kind": wall})
    proxy = await EgressProxy.start(EgressRules(EgressSettings()))
    with laid_out(folder) as outside:
        sandbox = await open_sandbox(settings, outside.workspace, proxy, folder / "records")
        try:
            yield outside, sandbox
        finally:
            await sandbox.close()
            await proxy.close()


async def run_script(outside: Outside, sandbox: Sandbox, script: str) -> str:
    """Return the output of a script that runs for at most twenty seconds."""
    words = ["bash", "-c", script.format(**outside.words())]
    with TemporaryFile() as output:
        process = await start(
            words, directory=outside.workspace, output=output.fileno(), sandbox=sandbox
        )
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(20):
                await process.wait()
        await end(process)
        output.seek(0)
        return output.read().decode("utf-8", "replace")


@pytest.mark.sandboxes("bubblewrap", "landlock")
@pytest.mark.sample(landlock=())
async def test_no_attempt_gets_through(tmp_path: Path, sandbox_kind: Kind) -> None:
    before = sleepers()
    through = await run_attempts(sandbox_kind, tmp_path)
    for pid in sleepers() - before:
        psutil.Process(pid).kill()
    remaining = LEFT_BY_LANDLOCK if sandbox_kind == "landlock" else set()
    assert set(through) == remaining, through


async def run_attempts(wall: str, folder: Path) -> dict[str, list[str]]:
    """Return the successful attempts; they share a sandbox, and each has a clean workspace."""
    through = {}
    async with behind(wall, folder) as (outside, sandbox):
        spare = outside.workspace.with_name("spare")
        shutil.copytree(outside.workspace, spare)
        for name, script in ALL.items():
            before = outside.state()
            output = await run_script(outside, sandbox, script)
            after = outside.state()
            changed = {key for key in {*before, *after} if before.get(key) != after.get(key)}
            messages = outside.take_messages()
            if changed or messages or outside.token in output or "THROUGH" in output:
                through[name] = [*changed, *messages, output[-200:]]
            fresh(outside.workspace, spare)
    return through


def fresh(workspace: Path, spare: Path) -> None:
    """Reset the workspace; the folder itself stays, because it is mounted."""
    for path in workspace.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
    shutil.copytree(spare, workspace, symlinks=True, dirs_exist_ok=True)


@pytest.mark.sandboxes("bubblewrap", "landlock")
async def test_nothing_is_left_behind(tmp_path: Path, sandbox_kind: Kind) -> None:
    before = sleepers()
    async with behind(sandbox_kind, tmp_path) as (outside, sandbox):
        await run_script(outside, sandbox, ALL["process: a daemon"])
    await until(lambda: sleepers() <= before)
    assert str(outside.workspace) not in Path("/proc/mounts").read_text()


def sleepers() -> set[int]:
    """Return the processes of the daemons that an attempt starts."""
    return {
        process.pid
        for process in psutil.process_iter(["cmdline"])
        if (process.info["cmdline"] or [])[-1:] == ["4711"]
    }
