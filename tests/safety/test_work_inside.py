"""Ordinary work in a workspace is possible in the sandbox, within the limits of the machine."""

from __future__ import annotations

import contextlib
import re
import shutil
import sys
import zipfile
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
import pytest_asyncio

from manus.calls.session import Session
from manus.config.files import write_atomically
from manus.config.safety_settings import SandboxSettings
from manus.config.settings import Settings
from manus.tools.bash import Bash
from manus.tools.python_execute import PythonExecute
from manus.workspace.safe_open import write_file
from tests.browser.driver import Driver
from tests.browser.site import Site
from tests.helpers.port import free_port
from tests.helpers.sandboxes import KINDS, Kind, require_sandbox
from tests.helpers.sessions import session_in

Shell = Callable[[str], Awaitable[str]]

LINES = {
    "git": "git init -q r && cd r && git config user.email a@b.example && "
    "git config user.name A && echo a > f && git add f && git commit -qm First && "
    "git log --format=%s && git status -s",
    "gcc": "printf '#include <stdio.h>\\nint main(){puts(\"First\");}' > a.c && gcc a.c && ./a.out",
    "node": "echo 'setTimeout(() => console.log(\"First\"), 1)' > a.js && node a.js",
    "gdb": "gdb -q -batch -ex run -ex 'echo First\\n' --args /bin/true && echo",
    "strace": "strace -f -o log true && grep -c exited log | sed s/.*/First/",
    "gpg": "export GNUPGHOME=$(mktemp -d) && git init -q g && cd g && "
    "git config user.email a@b.example && git config user.name A && "
    "gpg -q --batch --passphrase '' --quick-generate-key a@b.example 2>/dev/null && "
    "git -c user.signingkey=a@b.example -c commit.gpgsign=true commit -q --allow-empty -m First && "
    "git verify-commit HEAD && git log --format=%s && gpgconf --kill all",
    "chromium": 'echo \'<p id=p></p><script>p.textContent="Fir" + "st"</script>\' > a.html && '
    "chromium --headless --no-sandbox --disable-gpu --dump-dom a.html 2>/dev/null "
    "| grep -o '<p.*First'",
}


@pytest.fixture(scope="module", params=KINDS)
def kind(request: pytest.FixtureRequest) -> Kind:
    """Return the sandbox of the tests that share one."""
    requested: Kind = request.param
    require_sandbox(requested, request.config)
    return requested


@pytest.fixture(scope="module")
def root(kind: Kind, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp(f"work-{kind}")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shell(kind: Kind, root: Path) -> AsyncIterator[Shell]:
    """Return a function that runs a command, which must succeed; all share a sandbox."""
    (root / ".env").write_text("KEY=1\n")
    # a non-system Python: the programs that it starts must be readable, too
    settings = Settings(sandbox=SandboxSettings(kind=kind, read=(sys.base_prefix,)))
    session = session_in(root, settings=settings)
    bash = Bash(session=session)

    async def said(command: str) -> str:
        return (await bash.observe(command=f"(cd {root} && {command})", timeout=100.0)).text

    yield said
    await session.close()


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.sample(every=3)
@pytest.mark.parametrize("program", LINES)
async def test_a_program(shell: Shell, program: str, kind: Kind) -> None:
    if kind == "landlock" and program in ("chromium", "gdb", "strace", "gpg"):
        pytest.skip("it needs local sockets, or to trace its children")
    if shutil.which(program) is None:
        pytest.skip(f"no {program} here")
    output = await shell(LINES[program])
    assert output.count("First") == 1, output
    assert "[exit code 0]" in output


@pytest.mark.asyncio(loop_scope="module")
async def test_a_package_in_an_environment(shell: Shell, root: Path) -> None:
    with zipfile.ZipFile(root / "first-1-py3-none-any.whl", "w") as wheel:
        wheel.writestr("first.py", "print('First')\n")
        about = "Metadata-Version: 2.1\nName: first\nVersion: 1\n"
        wheel.writestr("first-1.dist-info/METADATA", about)
        made_by = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        wheel.writestr("first-1.dist-info/WHEEL", made_by)
        wheel.writestr("first-1.dist-info/RECORD", "")
    python = Path(sys.base_prefix) / "bin" / "python3"
    pip = f"{python} -m pip --python .venv/bin/python --disable-pip-version-check"
    install = f"{pip} install -q --no-index --find-links . first"
    output = await shell(
        f"{python} -m venv --without-pip .venv && {install} && .venv/bin/python -m first"
    )
    assert output.splitlines()[-2:] == ["First", "[exit code 0]"], output


@pytest.mark.asyncio(loop_scope="module")
async def test_a_file_of_secrets_is_not_written_but_a_new_file_is(
    shell: Shell, root: Path, kind: Kind
) -> None:
    if kind != "bubblewrap":
        pytest.skip("only bubblewrap can exempt files of the workspace")
    output = await shell("echo KEY=2 >> .env")
    assert "str_replace_editor" in output.splitlines()[-1]
    await shell("echo KEY=2 > .env.example")
    assert (root / ".env").read_text() == "KEY=1\n"
    write_atomically(root / ".env", b"KEY=3\n")  # as the editor does, after a person's approval
    assert "KEY=3" in await shell("cat .env")
    assert (root / ".env.example").read_text() == "KEY=2\n"


@pytest.mark.sandboxes("bubblewrap", "landlock")
async def test_the_users_toolchains_are_visible_without_their_keys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cargo, root = tmp_path / ".cargo", tmp_path / "project"
    for path, text in (("bin/hello", "#!/bin/sh\necho First\n"), ("credentials.toml", "key-1")):
        write_file(cargo / path, text.encode(), 0o755)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", f"{cargo / 'bin'}:/usr/bin:/bin")
    session = session_in(
        root,
    )
    command = f"hello; cat {cargo}/credentials.toml; echo 2 >> {cargo}/bin/hello"
    try:
        output = await Bash(session=session).observe(command=command)
    finally:
        await session.close()
    assert output.text.startswith("First\n")
    assert "key-1" not in output.text
    assert (cargo / "bin" / "hello").read_text().endswith("First\n")


@pytest.mark.sandboxes("landlock")
@pytest.mark.parametrize(
    ("command", "is_explained"),
    [
        ("cp -a . /tmp/orig", True),
        ("ls ..", True),
        ("""python3 -c "open('/tmp/x', 'w')\"""", True),
        ("touch $TMPDIR/x", False),
        ("ls /root/x", False),
        ("echo /tmp/a/b: Permission denied; false", False),
    ],
)
async def test_a_refusal_around_the_workspace_names_the_temporary_folder(
    tmp_path: Path, command: str, is_explained: bool
) -> None:
    session = session_in(tmp_path / "project")
    output = await Bash(session=session).observe(command=command)
    await session.close()
    assert ("$TMPDIR" in output.text) is is_explained


@pytest.fixture
async def limited(tmp_path: Path) -> AsyncIterator[Session]:
    limits = SandboxSettings(memory_megabytes=200, processes=30, file_megabytes=1)
    session = session_in(tmp_path, settings=Settings(sandbox=limits))
    yield session
    await session.close()


@pytest.mark.sandboxes("bubblewrap", "landlock")
async def test_total_memory(limited: Session) -> None:
    code = "import os, time\nos.fork(), os.fork()\nkept = bytearray(80_000_000)\ntime.sleep(60)"
    assert "memory" in (await PythonExecute(session=limited).observe(code=code)).text


SHARED_MEMORY = {
    "a memfd that is not mapped": "f = os.memfd_create('x')\nfor _ in range(40): os.write(f, part)",
    "a mapping that is shared": "m = mmap.mmap(-1, 400_000_000)\nfor _ in range(40): m.write(part)",
    "a file in /dev/shm": "f = open('/dev/shm/x', 'wb')\nfor _ in range(40): f.write(part)",
}


@pytest.mark.sandboxes("bubblewrap", "landlock")
@pytest.mark.parametrize("mode", SHARED_MEMORY)
async def test_memory_that_is_shared(tmp_path: Path, mode: str, sandbox_kind: Kind) -> None:
    if sandbox_kind == "landlock" and "/dev/shm" in mode:
        pytest.skip("under Landlock it is the machine's own /dev/shm")
    settings = Settings(sandbox=SandboxSettings(memory_megabytes=200))
    session = session_in(tmp_path, settings=settings)
    code = f"import mmap, os, time\npart = bytes(10_000_000)\n{SHARED_MEMORY[mode]}\ntime.sleep(60)"
    observation = await PythonExecute(session=session).observe(code=code)
    await session.close()
    assert re.search("sandbox.memory_megabytes|No space left on device", observation.text)


@pytest.mark.sandboxes("bubblewrap", "landlock")
async def test_a_mapping_of_several_processes_counts_once(tmp_path: Path) -> None:
    settings = Settings(sandbox=SandboxSettings(memory_megabytes=400))
    session = session_in(tmp_path, settings=settings)
    code = (
        "import mmap, os, time\nm = mmap.mmap(-1, 120_000_000)\nm.write(bytes(120_000_000))\n"
        "for _ in range(3):\n"
        " if os.fork() == 0: max(memoryview(m)[::4096]); time.sleep(1.5); os._exit(0)\n"
        "for _ in range(3): os.wait()\nprint('done')"
    )
    observation = await PythonExecute(session=session).observe(code=code)
    await session.close()
    assert observation.text.startswith("done")


@pytest.mark.sandboxes("bubblewrap", "landlock")
async def test_processes(limited: Session) -> None:
    bash = Bash(session=limited)
    output = (await bash.observe(command="for i in $(seq 60); do sleep 60 & done; wait")).text
    assert "sandbox.processes" in output
    assert "a" in (await bash.observe(command="echo a")).text


@pytest.mark.sandboxes("bubblewrap", "landlock")
async def test_a_file(limited: Session, subtests: pytest.Subtests) -> None:
    shell = Bash(session=limited).observe(command="head -c 2000000 /dev/zero > big; ls -l big")
    python = PythonExecute(session=limited).observe(code="open('big', 'wb').write(bytes(2000000))")
    for output in (await shell, await python):
        with subtests.test(output=output):
            assert re.search("(?i)too large|limit exceeded", output.text)
    assert (limited.workspace.root / "big").stat().st_size < 1_000_001


SERVE = (
    "python3 -m http.server {0} >server.log 2>&1 &\n"
    "until curl -sSfo /dev/null http://127.0.0.1:{0}/; do sleep 0.1; done"
)


@pytest.fixture
async def session(tmp_path: Path) -> AsyncIterator[Session]:
    """Provide a session with the default settings of a user."""
    session = session_in(tmp_path)
    yield session
    await session.close()


@pytest.mark.sandboxes("bubblewrap", "landlock")
async def test_a_server_of_the_shell_is_reached_and_none_of_the_machine(
    session: Session, subtests: pytest.Subtests
) -> None:
    """Also by a browser that was started before there was a sandbox."""
    driver = Driver(session)
    await driver.open("about:blank")
    root, html = session.workspace.root, '<input id="q"><a href="b.html">On</a>'
    (root / "index.html").write_text(f"<title>Home</title><h1>Built here</h1>{html}")
    (root / "b.html").write_text("<title>Second</title><p>Arrived")
    port = free_port()  # behind Landlock it is the host's
    assert not (await Bash(session=session).observe(command=SERVE.format(port))).is_error
    for url in (f"localhost:{port}", f"http://127.0.0.1:{port}"):
        with subtests.test(url=url):
            assert "Built here" in await driver.open(url)
    await driver.click('link "On"')
    assert "Arrived" in driver.text
    with contextlib.closing(Site()) as site:
        assert "egress" in await driver.fail("go_to_url", url=site.base)
        assert not site.requests


@pytest.mark.sandboxes("bubblewrap", "landlock")
async def test_a_hidden_program_does_not_hide_the_next_on_the_path(
    session: Session, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as a version manager's shim in another home."""
    shims = tmp_path_factory.mktemp("shims")
    (shims / "python3").write_text("#!/bin/sh\necho the shim\n")
    (shims / "python3").chmod(0o755)
    monkeypatch.setenv("PATH", f"{shims}:/usr/bin:/bin")
    printed = await Bash(session=session).observe(command="python3 -c 'print(6 * 7)'")
    assert printed.text.splitlines()[0] == "42"


@pytest.mark.sandboxes("bubblewrap", "landlock")
async def test_the_host_that_was_not_reached_is_named(session: Session) -> None:
    python = PythonExecute(session=session)
    code = "import urllib.request as u\nu.urlopen('http://10.1.2.3/', timeout=20)"
    output = await python.observe(code=code)
    assert output.is_error
    assert re.search(r"10\.1\.2\.3.*egress", output.text.splitlines()[-1])
    assert "10.1.2.3" not in (await python.observe(code="1")).text
