"""Programs in each sandbox find the user's own Python, Node and other tools."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from manus.calls.session import Session, get_sandbox
from manus.config.safety_settings import SandboxSettings
from manus.config.settings import Settings
from manus.sandbox import bubblewrap
from manus.sandbox.environment import tools
from manus.sandbox.environment.report import report_tools
from manus.tools.bash import Bash
from manus.tools.python_execute import PythonExecute
from manus.workspace.safe_open import write_file
from tests.helpers.child import ROOT
from tests.helpers.sandboxes import Kind
from tests.helpers.sessions import session_in

OF_ENVIRONMENTS = (
    *("VIRTUAL_ENV", "CONDA_PREFIX", "CONDA_DEFAULT_ENV"),
    "PLAYWRIGHT_BROWSERS_PATH",
    *("PYENV_ROOT", "PYENV_VERSION", "NVM_DIR", "ASDF_DATA_DIR", "MISE_DATA_DIR"),
)
CODE = "import greeter, sys\nprint(greeter.WORD, sys.prefix)"


def write(path: Path, text: str = "", mode: int = 0o644) -> Path:
    write_file(path, text.encode(), mode)
    return path


def make_environment(prefix: Path, word: str) -> Path:
    """Create a virtual environment whose Python can import `greeter`, without a download."""
    options = ["--without-pip", str(prefix)]
    subprocess.run([sys.executable, "-m", "venv", *options], check=True)
    [packages] = prefix.glob("lib/python3*/site-packages")
    write(packages / "greeter.py", f"WORD = {word!r}\n")
    return prefix


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in (*OF_ENVIRONMENTS, "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


@pytest.fixture
async def session(home: Path, sandbox_kind: Kind) -> AsyncIterator[Session]:
    settings = Settings(sandbox=SandboxSettings(kind=sandbox_kind))
    session = session_in(home / "project", settings=settings)
    yield session
    await session.close()


@pytest.fixture
def root(session: Session) -> Path:
    return session.workspace.root


async def bash(session: Session, command: str) -> str:
    return (await Bash(session=session).observe(command=command)).text


async def python(session: Session, code: str) -> str:
    return (await PythonExecute(session=session).observe(code=code)).text


@pytest.mark.sandboxes
async def test_an_active_environment_is_first_and_its_neighbors_are_hidden(
    session: Session, home: Path, sandbox_kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    all_of_them = home / ".virtualenvs"
    app = make_environment(all_of_them / "app", "from app")
    make_environment(all_of_them / "other", "from other")
    keys = [all_of_them / "postactivate", app / "pip.conf", app / "bin" / "postactivate"]
    keys.append(all_of_them / "other" / "bin" / "activate")
    for key in keys:
        write(key, "export TOKEN=sk-secret\n")
    write(
        app / "bin" / "greet", f"#!{app}/bin/python\nimport greeter; print(greeter.WORD)\n", 0o755
    )
    monkeypatch.setenv("VIRTUAL_ENV", str(app))
    output = await bash(session, f"greet; command -v python; echo $VIRTUAL_ENV; echo a > {app}/new")
    assert output.splitlines()[:3] == ["from app", f"{app}/bin/python", str(app)]
    output = await python(session, CODE)
    assert output.splitlines() == [
        *(f"from app {app}", "[exit code 0]", f"[Python: {app}/bin/python]"),
    ]
    if sandbox_kind != "none":
        assert not (app / "new").exists()
        assert "sk-secret" not in await bash(session, f"cat {' '.join(map(str, keys))}")
        assert "from other" not in await bash(
            session, f"cat {all_of_them}/other/lib/*/*/greeter.py"
        )


@pytest.mark.sandboxes
async def test_the_workspaces_environment_is_first(
    session: Session, home: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    active = make_environment(home / "active", "from active")
    monkeypatch.setenv("VIRTUAL_ENV", str(active))
    make_environment(root / ".venv", "from workspace")
    assert (await python(session, CODE)).startswith(f"from workspace {root / '.venv'}")
    observation = await bash(session, "python -c 'import greeter; print(greeter.WORD)'")
    assert observation.startswith("from workspace")


@pytest.mark.sandboxes("bubblewrap", "landlock")
async def test_an_environment_whose_python_is_gone(session: Session, root: Path) -> None:
    (root / ".venv" / "bin").mkdir(parents=True)
    (root / ".venv" / "bin" / "python").symlink_to("/nowhere/python3")
    assert "its Python does not start" in report_tools(root, session.settings.sandbox).describe()
    assert (await python(session, "print(1)")).startswith("1")


TOOLS = {
    ".pyenv/versions/3.1/bin": (".pyenv/versions/3.1/pip.conf", ".pyenv/versions/3.1/lib/a"),
    ".nvm/versions/node/v1/bin": (".nvm/versions/node/v1/etc/npmrc", ".nvm/versions/node/v1/lib/a"),
    ".asdf/shims": (".asdf/installs/go/1/etc/npmrc", ".asdf/installs/go/1/a"),
    ".volta/bin": (".volta/tools/image/node/1/etc/npmrc", ".volta/a"),
    ".cargo/bin": (".cargo/credentials.toml", ".rustup/toolchains/a"),
    "miniconda3/condabin": ("miniconda3/.condarc", "miniconda3/lib/a"),
    "tool/bin": ("tool/settings.ini", "tool/lib/a"),
}
"""Folders on the `PATH`, each with a secret and with a file that its programs need."""


@pytest.mark.sandboxes("bubblewrap", "landlock")
async def test_tools_are_visible_where_the_path_leads_and_secrets_beside_them_are_not(
    session: Session, home: Path, monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests
) -> None:
    for number, (folder, (secret, needed)) in enumerate(TOOLS.items()):
        program = write(home / folder / f"tool{number}", "#!/bin/sh\ncat $1\n", 0o755)
        write(home / secret, "sk-secret\n")
        write(home / needed, "needed\n")
        monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    write(home / ".ssh" / "id", "sk-secret\n")
    for number, (folder, (secret, needed)) in enumerate(TOOLS.items()):
        with subtests.test(folder=folder):
            script = f"tool{number} {home / needed}; cat {home / secret} {home}/.ssh/id"
            observation = await bash(session, script)
            assert observation.startswith("needed")
            assert "sk-secret" not in observation


@pytest.mark.sandboxes("bubblewrap", "landlock")
async def test_of_local_programs_only_installed_ones_are_visible(
    session: Session, home: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    local = home / ".local" / "bin"
    environment = make_environment(home / ".local" / "share" / "uv" / "tools" / "t", "from tool")
    script = f"#!{environment}/bin/python\nimport greeter; print(greeter.WORD)\n"
    write(environment / "bin" / "greet", script, 0o755)
    write(local / "mine", "#!/bin/sh\necho sk-secret\n", 0o755)
    starter = "#!/usr/bin/python3\nimport sys\nfrom os import getcwd\nsys.exit(getcwd())\n"
    write(local / "starter", starter, 0o755)
    (local / "greet").symlink_to(environment / "bin" / "greet")
    monkeypatch.setenv("PATH", f"{local}:/usr/bin:/bin")
    assert (await bash(session, "greet")).startswith("from tool")
    assert "sk-secret" not in await bash(session, f"mine; cat {local}/mine")
    assert str(root) in await bash(session, "starter")
    assert str(local / "mine") in report_tools(root, session.settings.sandbox).describe()


@pytest.mark.sandboxes("bubblewrap", "landlock")
@pytest.mark.parametrize("name", ["sh", "bash", "bwrap", "nsenter"])
async def test_no_program_of_the_workspace_is_started_outside_of_the_sandbox(
    session: Session, root: Path, home: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_environment(root / ".venv", "from here")
    monkeypatch.setenv("VIRTUAL_ENV", f"{root}/.venv")
    monkeypatch.setenv("PATH", f"{root}/.venv/bin:/usr/bin:/bin")
    write(
        root / ".venv/bin" / name,
        f'#!/bin/sh\necho > {home}/escaped\nexec /bin/{name} "$@"\n',
        0o755,
    )
    assert "from here" in await python(session, CODE)
    await bash(session, "true")
    assert not (home / "escaped").exists()


HOSTILE = {
    "a link to the home": ("", "../.."),
    "a link to a project": ("", "../../other"),
    "an interpreter in a project": ("bin/python", "../../../../other/bin/python"),
}


@pytest.mark.sandboxes("bubblewrap", "landlock")
@pytest.mark.parametrize("trick", HOSTILE)
async def test_a_workspace_cannot_expose_other_files(
    session: Session, root: Path, home: Path, trick: str
) -> None:
    secrets = [home / ".ssh" / "key", home / "other" / "lib" / "key", home / "other/bin/python"]
    for path in secrets:
        write(path, "sk-secret\n", 0o755)
    name, target = HOSTILE[trick]
    if name:
        write(root / ".venv" / "pyvenv.cfg")
    (root / ".venv" / name).parent.mkdir(parents=True, exist_ok=True)
    (root / ".venv" / name).symlink_to(target)
    assert "sk-secret" not in await bash(session, f"cat {' '.join(map(str, secrets))}")


OWN = """\
import asyncio, sys
from pathlib import Path
from manus.tools.bash import Bash
from tests.helpers.child import ROOT
from tests.helpers.child import ROOT
from tests.helpers.sandboxes import Kind
from tests.helpers.sessions import session_in

async def main():
    session = session_in(Path(sys.argv[1]))
    command = "python -c 'import greeter'; echo a > .venv/lib/new; mv .venv old; echo b > made"
    print((await Bash(session=session).observe(command=command)).text)
    await session.close()

asyncio.run(main())
"""


def test_the_environment_that_manus_runs_in_cannot_be_changed(home: Path) -> None:
    """Programs of a run could otherwise leave code there that the next start executes."""
    if bubblewrap.find_fault():
        pytest.skip("only bubblewrap can except a folder of the workspace")
    root = home / "project"
    prefix = make_environment(root / ".venv", "from here")
    [packages] = prefix.glob("lib/python3*/site-packages")
    write(packages / "manus.pth", f"{ROOT}\n{sysconfig.get_path('purelib')}\n")
    process = subprocess.run(
        [str(prefix / "bin" / "python"), "-c", OWN, str(root)],
        env={"PATH": "/usr/bin:/bin", "HOME": str(home), "VIRTUAL_ENV": str(prefix)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "read-only" in process.stdout.lower()
    assert sorted(path.name for path in root.iterdir()) == [".manus", ".venv", "made"]
    assert not (prefix / "lib" / "new").exists()


@pytest.mark.sandboxes
async def test_a_server_of_the_user_is_not_found_in_the_workspace(
    session: Session, root: Path
) -> None:
    """An MCP server receives keys, so no program in the workspace may replace it."""
    make_environment(root / ".venv", "from here")
    sandbox = await get_sandbox(session)
    started = sandbox.confine(["python"], {"PATH": "/usr/bin:/bin"}, root, is_user_program=True)
    assert started.environment["PATH"] == "/usr/bin:/bin"


def test_links_that_disappear_while_they_are_read_are_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As those in the system's folders, while a package manager installs something."""
    links = tmp_path / "links"
    links.mkdir()
    (tmp_path / "opt").mkdir()
    for number in range(50):
        (tmp_path / "opt" / str(number)).write_text("")
        (links / str(number)).symlink_to(tmp_path / "opt" / str(number))
    monkeypatch.setattr(tools, "_SYSTEM_LINKS", (str(links),))
    monkeypatch.setattr(tools, "_OPT", tmp_path / "opt")
    targets = tools._iterate_targets_in_opt()
    assert next(targets).parent == tmp_path / "opt"
    for link in links.iterdir():
        link.unlink()
    assert list(targets) == []


def test_a_folder_of_the_path_that_the_user_may_not_read_is_passed_over(tmp_path: Path) -> None:
    """As root, whom no folder refuses, this shows only that the others are still found."""
    (tmp_path / "private" / "bin").mkdir(parents=True)
    (tmp_path / "own" / "bin").mkdir(parents=True)
    (tmp_path / "private").chmod(0)
    path = f"{tmp_path}/private/bin:{tmp_path}/own/bin"
    found = tools.find_user_tools(tmp_path / "workspace", {"PATH": path})
    (tmp_path / "private").chmod(0o700)
    assert tmp_path / "own" / "bin" in found.exposure.read
