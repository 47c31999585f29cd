"""Sockets behind Landlock: programs reach their own servers, and none of the host's."""

from __future__ import annotations

import contextlib
import errno
import shutil
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from tempfile import TemporaryFile

import pytest

from manus.config.browser_settings import EgressSettings
from manus.config.safety_settings import SandboxSettings
from manus.config.settings import Settings
from manus.execution.network.egress import EgressRules
from manus.execution.network.egress_proxy import EgressProxy
from manus.execution.process import end, start
from manus.execution.safe_open import write_file
from manus.execution.sandbox import landlock, seccomp
from manus.execution.sandbox.sandbox import Sandbox, open_sandbox
from manus.execution.session import Session
from manus.tools.bash import Bash
from tests.helpers.processes import until
from tests.helpers.sessions import session_in

pytestmark = pytest.mark.sandboxes("landlock")

MANAGER = """
import multiprocessing
def work(shared): shared["sum"] = 3
if __name__ == "__main__":
    with multiprocessing.Manager() as manager:
        shared = manager.dict()
        process = multiprocessing.Process(target=work, args=(shared,))
        process.start(); process.join()
        print(dict(shared))
"""
ECHO = """
import asyncio, os, sys
async def serve(reader, writer):
    writer.write(await reader.readline())
    writer.close()
async def main():
    os.makedirs(os.path.dirname(sys.argv[1]) or ".", exist_ok=True)
    server = await asyncio.start_unix_server(serve, sys.argv[1])
    for _ in range(3):
        reader, writer = await asyncio.open_unix_connection(sys.argv[1])
        writer.write(b"echoed\\n")
        print((await reader.readline()).decode().strip())
        writer.close()
asyncio.run(main())
"""
CROWD = """
import socket, threading, time
server = socket.socket(socket.AF_UNIX); server.bind("crowd"); server.listen(1)
def come():
    with socket.socket(socket.AF_UNIX) as client: client.connect("crowd"); client.send(b"x")
threads = [threading.Thread(target=come) for _ in range(9)]
for thread in threads: thread.start()
print(sum(len(server.accept()[0].recv(1)) for _ in threads))
"""
NONBLOCKING = """
import socket
server = socket.socket(socket.AF_UNIX); server.bind("full"); server.listen(0)
clients = [socket.socket(socket.AF_UNIX) for _ in range(9)]
for client in clients: client.setblocking(False)
print([client.connect_ex("full") for client in clients][-1])
"""
LOOPBACK = """
import socket
for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
    server = socket.socket(family)
    server.bind((host, 0)); server.listen()
    with socket.socket(family) as client:
        client.settimeout(5)
        client.connect(server.getsockname())
        client.send(b"x")
        received = server.accept()[0].recv(1).decode()
        print(received, client.getpeername() == server.getsockname())
    port = server.getsockname()[1]
    server.close()
    try: socket.create_connection((host, port))
    except ConnectionRefusedError: print("refused")
"""
WORKING = {
    "multiprocessing": (MANAGER, "", "{'sum': 3}"),
    "a relative path": (ECHO, "own.sock", "echoed\nechoed\nechoed"),
    "a path of a temporary folder": (ECHO, "$TMPDIR/own.sock", "echoed\nechoed\nechoed"),
    "a path in Chinese": (ECHO, "文件夹/插座", "echoed\nechoed\nechoed"),
    "a backlog that is full": (CROWD, "", "9"),
    "a backlog that is full, without waiting": (NONBLOCKING, "", str(errno.EAGAIN)),
    "TCP on loopback": (LOOPBACK, "", "x True\nrefused\nx True\nrefused"),
}
REFUSED = {
    "a server of the machine in the workspace": "connect('daemon.sock')",
    "an abstract address": "connect('\\0daemon')",
    "an abstract address of its own": "bind('\\0manus-own')",
    "a path outside": "bind('{outside}/own.sock')",
    "a path outside by a link": "bind('link/own.sock')",
}
SUPERVISE = """
import ctypes, os, struct
libc = ctypes.CDLL(None, use_errno=True)
program = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0x7fff0000), 8)
header = struct.pack("@HP", 1, ctypes.addressof(program))
number = 317 if os.uname().machine == "x86_64" else 277
def supervise():
    return ctypes.get_errno() if libc.syscall(number, 1, 8, header) < 0 else 0
"""
LEFT = """
import os, socket, time
print("ready", flush=True)
while not os.path.exists("go"): time.sleep(0.02)
try: socket.socket(socket.AF_UNIX); made = 0
except OSError as error: made = error.errno
print(made, supervise(), flush=True)
"""
BROWSERS = {"chromium": "--headless=new", "chromium-headless-shell": "--disable-gpu"}
"""With one argument each."""
TESTS_OF_A_PAGE = """
import functools, http.server, threading
import pytest
from playwright.sync_api import sync_playwright

@pytest.fixture
def address():
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory="site")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://localhost:{server.server_port}/"
        server.shutdown()

def test_title(address):
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="BROWSER", args=["MODE"])
        page = browser.new_page()
        page.goto(address)
        print("title:", page.title())
        assert page.title() == "Built here"
        browser.close()
"""


@pytest.fixture
async def session(tmp_path: Path) -> AsyncIterator[Session]:
    programs = filter(None, map(shutil.which, BROWSERS))
    folders = [str(Path(program).resolve().parent) for program in programs]
    read = (sys.base_prefix, sys.prefix, *folders)
    settings = Settings(sandbox=SandboxSettings(kind="landlock", read=read))
    session = session_in(tmp_path / "workspace", settings=settings)
    yield session
    await session.close()


async def run(session: Session, command: str) -> str:
    return (await Bash(session=session).observe(command=command, timeout=100.0)).text


@pytest.mark.parametrize("name", WORKING)
async def test_programs_reach_their_own_servers(session: Session, name: str) -> None:
    script, argument, expected = WORKING[name]
    write_file(session.workspace.root / "script.py", script.encode())
    printed = await run(session, f'{sys.executable} script.py "{argument}"')
    assert printed == f"{expected}\n[exit code 0]"


async def test_a_path_that_is_too_long_for_an_address(session: Session) -> None:
    folder = session.workspace.root / ("long" * 30)
    write_file(folder / "script.py", ECHO.encode())
    printed = await run(session, f"cd {folder} && {sys.executable} script.py own.sock")
    assert printed == f"echoed\nechoed\nechoed\n[exit code 0, in {folder.name}]"


@pytest.mark.parametrize("name", REFUSED)
async def test_the_machine_is_out_of_reach(session: Session, tmp_path: Path, name: str) -> None:
    root = session.workspace.root
    (root / "link").symlink_to(tmp_path)
    code = f"import socket; socket.socket(1).{REFUSED[name].format(outside=tmp_path)}"
    with socket.socket(socket.AF_UNIX) as daemon:
        daemon.bind(str(root / "daemon.sock"))
        daemon.listen()
        daemon.setblocking(False)
        printed = await run(session, f'{sys.executable} -c "{code}"')
        with pytest.raises(BlockingIOError):
            daemon.accept()
    assert "Permission denied" in printed
    assert not (tmp_path / "own.sock").exists()


async def test_a_port_that_another_program_has_taken_over(session: Session) -> None:
    code = "import socket; s = socket.create_server(('127.0.0.1', 0)); print(s.getsockname()[1])"
    printed = await run(session, f'{sys.executable} -c "{code}"')
    port = int(printed.splitlines()[0])
    with socket.create_server(("127.0.0.1", port)) as server:
        server.setblocking(False)
        connect = f"import socket; socket.create_connection(('127.0.0.1', {port}))"
        printed = await run(session, f'{sys.executable} -c "{connect}"')
        with pytest.raises(BlockingIOError):
            server.accept()
    assert "Permission denied" in printed


@contextlib.asynccontextmanager
async def opened(workspace: Path) -> AsyncIterator[Sandbox]:
    proxy = await EgressProxy.start(EgressRules(EgressSettings()))
    sandbox = await open_sandbox(
        SandboxSettings(kind="landlock"), workspace, proxy, workspace / "r"
    )
    yield sandbox
    await sandbox.close()
    await proxy.close()


async def test_a_program_that_outlives_the_broker_gets_no_local_socket(tmp_path: Path) -> None:
    with TemporaryFile() as output:

        def printed() -> str:
            output.seek(0)
            return output.read().decode()

        async with opened(tmp_path) as sandbox:
            words = [sys.executable, "-c", SUPERVISE + LEFT]
            process = await start(
                words,
                directory=tmp_path,
                output=output.fileno(),
                sandbox=sandbox,
                read=[Path(sys.base_prefix), Path(sys.prefix)],
            )
            await until(lambda: "ready" in printed())
        (tmp_path / "go").touch()
        await process.wait()
        await end(process)
        assert printed().split() == ["ready", str(errno.ENOSYS), str(errno.EPERM)]


def test_without_a_broker_there_are_no_local_sockets(tmp_path: Path) -> None:
    rules = {
        "rules": seccomp.build_filter(shares_network=True, shares_ipc=True),
        "broker_rules": seccomp.build_filter(shares_network=True, shares_ipc=True, has_broker=True),
    }
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        read = [Path("/usr"), Path("/lib"), Path("/lib64"), Path(sys.base_prefix), Path(sys.prefix)]
        front = landlock.build_command(
            sys.executable,
            tmp_path,
            tmp_path,
            read=read,
            network=True,
            port=port,
            broker="manus-nobody",
            **rules,
        )
        code = f"import socket; socket.create_connection(('127.0.0.1', {port})); socket.socket(1)"
        process = subprocess.run(
            [*front, sys.executable, "-c", code], capture_output=True, text=True, check=False
        )
    assert process.stderr.endswith("PermissionError: [Errno 1] Operation not permitted\n")


@pytest.mark.parametrize("browser", BROWSERS)
async def test_a_browser_that_the_tests_of_the_workspace_start(
    session: Session, browser: str
) -> None:
    program = shutil.which(browser)
    if program is None:
        pytest.skip(f"no {browser} here")
    root = session.workspace.root
    text = TESTS_OF_A_PAGE.replace("BROWSER", program).replace("MODE", BROWSERS[browser])
    write_file(root / "test_page.py", text.encode())
    write_file(root / "site" / "index.html", b"<title>Built here</title>")
    write_file(root / "pytest.ini", b"[pytest]")  # parent folders are searched, too
    printed = await run(session, f"{sys.executable} -m pytest -q -s test_page.py")
    assert "title: Built here" in printed
    assert "1 passed" in printed
