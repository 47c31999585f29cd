"""Programs in each sandbox find the user's own Python, Node and other tools."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.async_api import async_playwright

from manus.config.run_settings import resolve_settings
from manus.config.safety_settings import SandboxSettings
from manus.config.settings import Settings
from manus.execution.environment.report import report_tools
from manus.execution.environment.selection import find_user_tools
from manus.execution.safe_open import write_file
from manus.execution.sandbox import bubblewrap
from manus.execution.sandbox.sandbox import get_sandbox
from manus.execution.session import Session
from manus.execution.workspace import Workspace
from manus.graph.profiles import DATA_ANALYSIS
from manus.nodes.exchange.environment_info import describe_environment
from manus.tools.bash import Bash
from manus.tools.python_execute import PythonExecute
from tests.helpers.child import ROOT
from tests.helpers.sandboxes import Kind
from tests.helpers.sessions import session_in

OF_ENVIRONMENTS = (
    *("VIRTUAL_ENV", "CONDA_PREFIX", "CONDA_DEFAULT_ENV"),
    "PLAYWRIGHT_BROWSERS_PATH",
    *("PYENV_ROOT", "PYENV_VERSION", "NVM_DIR", "ASDF_DATA_DIR", "MISE_DATA_DIR"),
)
PYENVS = sorted(
    Path.home().glob(".pyenv/versions/*.*.*"), key=lambda path: list(map(int, path.name.split(".")))
)
"""Real interpreters, if this machine has any, oldest first."""
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
async def test_the_environment_of_the_workspace_comes_before_another_and_can_be_changed(
    session: Session, root: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VIRTUAL_ENV", str(make_environment(home / "other", "from other")))
    make_environment(root / ".venv", "from here")
    output = await bash(
        session, "python -c 'import greeter; print(greeter.WORD)'; command -v python"
    )
    assert output.splitlines()[:2] == ["from here", f"{root}/.venv/bin/python"]
    assert (await python(session, CODE)).splitlines()[-1] == "[Python: .venv/bin/python]"
    module = next(root.glob(".venv/lib/*/site-packages"))
    await bash(session, f"echo 'WORD = \"changed\"' > {module}/greeter.py")
    assert "changed" in await python(session, CODE)


@pytest.mark.sandboxes
@pytest.mark.parametrize("form", ["link", "file with a path", "file with a name"])
async def test_a_venv_outside_the_workspace(
    session: Session, root: Path, home: Path, form: str
) -> None:
    place = make_environment(home / ".virtualenvs" / "app", "from app")
    if form == "link":
        (root / ".venv").symlink_to(place)
    else:
        write(root / ".venv", f"{place}\n" if "path" in form else "app\n")
    assert "from app" in await python(session, CODE)


@pytest.mark.sandboxes
async def test_an_environment_of_conda(
    session: Session, home: Path, sandbox_kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its Python is a separate file, with tokens next to it."""
    prefix = make_environment(home / "miniconda3" / "envs" / "app", "from conda")
    (prefix / "pyvenv.cfg").rename(prefix / "bin" / "pyvenv.cfg")  # a conda Python has none
    write(prefix / "conda-meta" / "python-3.11.7-h1.json", "{}")
    tokens = [home / "miniconda3" / ".condarc", home / "miniconda3" / "envs" / "x" / "lib" / "key"]
    tokens += [prefix / ".condarc", prefix / "conda-meta" / "state", prefix / "etc" / "npmrc"]
    for path in tokens:
        write(path, "sk-secret")
    write(home / "miniconda3" / "bin" / "conda", "#!/bin/sh\n", 0o755)
    write(prefix / "bin" / "tool", "#!/bin/sh\necho from conda\n", 0o755)
    monkeypatch.setenv("CONDA_PREFIX", str(prefix))
    monkeypatch.setenv("CONDA_DEFAULT_ENV", "app")
    output = await bash(session, "tool; command -v python; echo $CONDA_PREFIX $CONDA_DEFAULT_ENV")
    expected = ["from conda", f"{prefix}/bin/python", f"{prefix} app"]
    assert output.splitlines()[:3] == expected
    if sandbox_kind != "none":
        assert "sk-secret" not in await bash(session, f"cat {' '.join(map(str, tokens))}")


VERSIONS = {
    ".pyenv/versions/{}/bin/python3": (".python-version", "3.12\n", "3.12.4"),
    ".pyenv/versions/{}/bin/python": (".python-version", "# ours\n3.12.2\n3.11\n", "3.12.2"),
    ".local/share/uv/python/cpython-{}-linux-x86_64-gnu/bin/python": (
        *(".python-version", "cpython@3.12\n", "3.12.4"),
    ),
    ".nvm/versions/node/v{}/bin/node": (".nvmrc", "lts/iron\n", "20.11.1"),
    ".local/share/fnm/node-versions/v{}/installation/bin/node": (".nvmrc", "v20\n", "20.11.1"),
    ".local/share/mise/installs/node/{}/bin/node": (
        "mise.toml",
        '[tools]\nnode = "20"\n',
        "20.1.0",
    ),
    ".local/share/mise/installs/go/{}/bin/go": (
        *("mise.toml", '[tools]\ngo = {version = "latest"}\n', "1.22.10"),
    ),
    ".asdf/installs/nodejs/{}/bin/node": (".tool-versions", "nodejs 20.11.1 system\n", "20.11.1"),
    ".asdf/installs/golang/{}/go/bin/go": (".tool-versions", "golang 1.22.1\n", "1.22.1"),
}
OTHERS = {
    "python": ("3.11.1", "3.12.3", "3.12.99rc1"),
    "node": ("18.0.0", "22.0.0"),
    "go": ("1.22.9", "1.9.0"),
}


@pytest.mark.sandboxes
@pytest.mark.parametrize("program", VERSIONS)
async def test_the_version_requested_by_a_file(
    session: Session, root: Path, home: Path, program: str
) -> None:
    file, text, version = VERSIONS[program]
    write(home / ".nvm/alias/lts/iron", "v20.11.1\n")
    name = Path(program).name
    for each in (version, *OTHERS[name.rstrip("3")]):
        write(home / program.format(each), f"#!/bin/sh\necho this is {each}\n", 0o755)
    write(root.parent / file, text)  # a parent folder counts, too
    assert f"this is {version}\n" in await bash(session, name)


@pytest.mark.sandboxes
async def test_programs_behind_shims_are_found(
    session: Session, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At its own position in the `PATH`: entries before the shims keep precedence."""
    pyenv = home / "tools" / "pyenv"
    programs = {
        pyenv / "versions/3.12.4/bin/python": "of pyenv",
        pyenv / "versions/3.12.4/bin/pip": "of pyenv",
        pyenv / "shims/python": "a shim",
        home / ".local/share/pipx/venvs/pip/bin/pip": "of the user",
    }
    for path, words in programs.items():
        write(path, f"#!/bin/sh\necho {words}\n", 0o755)
    write(home / ".local/share/pipx/venvs/pip/pyvenv.cfg")
    (home / ".local/bin").mkdir()
    (home / ".local/bin/pip").symlink_to("../share/pipx/venvs/pip/bin/pip")
    write(pyenv / "version", "3.12\n")
    monkeypatch.setenv("PYENV_ROOT", str(pyenv))
    monkeypatch.setenv("PATH", f"{home}/.local/bin:{pyenv}/shims:/usr/bin:/bin")
    assert (await bash(session, "pip; python")).startswith("of the user\nof pyenv\n")


@pytest.mark.sandboxes
async def test_the_packages_of_the_user(session: Session, home: Path, sandbox_kind: Kind) -> None:
    """Packages of `pip install --user` are found, and more can be installed next to them."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    packages = home / ".local" / "lib" / f"python{version}" / "site-packages"
    write(packages / "greeter.py", "WORD = 'from the user'\n")
    write(home / ".local" / "share" / "keyring" / "key", "sk-secret")
    base = Path(sys.base_prefix) / "bin" / f"python{version}"
    code = (
        "import greeter, site; print(greeter.WORD); open(site.getusersitepackages() + '/new', 'w')"
    )
    output = await bash(session, f'{base} -c "{code}"; cat {home}/.local/share/keyring/key')
    assert output.startswith("from the user\n")
    if sandbox_kind != "none":
        assert "Error" not in output
        assert "sk-secret" not in output
        assert not (packages / "new").exists()


LAUNCH = """
from playwright.sync_api import sync_playwright
with sync_playwright() as playwright:
    browser = playwright.chromium.launch(channel="chromium")
    page = browser.new_page()
    page.set_content("<title>Opened</title>")
    print(page.title())
    browser.close()
"""


@pytest.mark.sandboxes
@pytest.mark.sample(none=())
async def test_the_browsers_that_playwright_has_installed(
    session: Session, root: Path, home: Path, sandbox_kind: Kind
) -> None:
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("no chromium here")
    cache = home / ".cache" / "ms-playwright"
    async with async_playwright() as playwright:
        installed = Path(playwright.chromium.executable_path)
    assert installed.is_relative_to(cache)
    write(installed, f'#!/bin/sh\nexec {chromium} "$@"\n', 0o755)
    cookies = cache / "mcp-chrome-1234567" / "Cookies"
    write(cookies, "a cookie")
    write(root / "launch.py", LAUNCH)
    printed = await bash(session, f"{sys.executable} launch.py; cat {cookies}")
    assert printed.startswith("Opened\n")
    if sandbox_kind != "none":
        assert "a cookie" not in printed


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
    "a link to the home": ".venv",
    "a link to a project": ".venv",
    "a file of versions": ".python-version",
    "a path of versions": ".python-version",
    "a tool": ".tool-versions",
}


@pytest.mark.sandboxes
@pytest.mark.parametrize("trick", HOSTILE)
async def test_a_workspace_cannot_expose_other_files(
    session: Session, root: Path, home: Path, sandbox_kind: Kind, trick: str
) -> None:
    secrets = [home / ".ssh" / "key", home / "other" / "key", home / "other" / "bin" / "python"]
    for path in secrets:
        write(path, "sk-secret\n", 0o755)
    write(home / ".pyenv" / "versions" / "3.12.1" / "bin" / "python", "", 0o755)
    place = root / HOSTILE[trick]
    match trick:
        case "a link to the home":
            place.symlink_to(home)
        case "a link to a project":
            place.symlink_to(home / "other")
        case "a file of versions":
            place.symlink_to(home / ".ssh" / "key")
        case "a path of versions":
            place.write_text(f"../../../other\n{home}/other\n")
        case _:
            place.write_text("../../../../other .\n../.ssh ..\n")
    tools = find_user_tools(root, os.environ)
    assert "sk-secret" not in str(tools.problems)
    if sandbox_kind != "none":
        assert "sk-secret" not in await bash(session, f"cat {' '.join(map(str, secrets))}")


@pytest.mark.sandboxes
async def test_data_analysis_keeps_the_python_that_has_its_packages(
    session: Session, root: Path
) -> None:
    make_environment(root / ".venv", "from here")
    session.settings = replace(session.settings, profile=DATA_ANALYSIS)
    assert "[exit code 0]" in await python(session, "import pydantic; print(1)")
    missing = await python(session, CODE)
    assert missing.splitlines()[-1] == "[Python: manus's own]"


@pytest.mark.sandboxes
@pytest.mark.skipif(not PYENVS, reason="no Python of pyenv here")
@pytest.mark.parametrize("version", [path.name for path in PYENVS[:: max(1, len(PYENVS) - 1)]])
async def test_code_runs_with_any_python_that_pyenv_has(
    home: Path, sandbox_kind: Kind, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even if it is much older than the version that manus requires."""
    monkeypatch.setenv("PYENV_ROOT", str(PYENVS[0].parent.parent))
    write(home / "project" / ".python-version", f"{version}\n")
    settings = Settings(sandbox=SandboxSettings(kind=sandbox_kind))
    session = session_in(home / "project", settings=settings)
    try:
        output = await python(session, "import sys; print('%d.%d.%d' % sys.version_info[:3])")
    finally:
        await session.close()
    assert output.startswith(f"{version}\n[exit code 0]\n[Python: ")


OWN = """\
import asyncio, sys
from pathlib import Path
from manus.tools.bash import Bash
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
    # bubblewrap puts the wrapper of git first
    path = started.environment["PATH"]
    assert path == "/usr/bin:/bin"


def test_hidden_programs_are_reported(
    home: Path, monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests
) -> None:
    root, settings = home / "project", SandboxSettings()
    root.mkdir()
    assert report_tools(root, settings).describe() == ""
    write(home / "mine" / "bin" / "cargo", "", 0o755)
    monkeypatch.setenv("PATH", f"{home}/mine/bin:/usr/bin:/bin")
    [packages] = make_environment(root / ".venv", "x").glob("lib/python3*/site-packages")
    about = {"url": (home / "library").as_uri(), "dir_info": {"editable": True}}
    write(packages / "library-1.dist-info" / "direct_url.json", json.dumps(about))
    (home / "library").mkdir()
    write(root / ".nvmrc", "22\n")
    monkeypatch.setenv("VIRTUAL_ENV", str(home / "gone"))
    description = report_tools(root, settings).describe()
    version = ".".join(map(str, sys.version_info[:3]))
    assert description == (
        f"First on the PATH: Python {version} in .venv (.venv). The sandbox hides "
        f"{home}/mine/bin, {home}/library (`read` under `[sandbox]` shows more). "
        f"`VIRTUAL_ENV` is not a virtual environment ({home}/gone). "
        "`.nvmrc` requests node 22, which is not installed."
    )
    resolved = resolve_settings(Settings(sandbox=settings))
    environment_text = describe_environment(Workspace(root), resolved, own_python=False)
    python = f"`python3` and `python_execute` run Python {version} in .venv."
    for part in (python, f"{home}/mine/bin", f"{home}/library", "22"):
        with subtests.test(part=part):
            assert part in environment_text, part


def test_an_environment_whose_python_is_missing(home: Path) -> None:
    root = home / "project"
    prefix = make_environment(root / ".venv", "x")
    (prefix / "bin" / "python").unlink()
    (prefix / "bin" / "python").symlink_to(home / "gone" / "bin" / "python3")
    tools = find_user_tools(root, os.environ)
    assert tools.python is None
    assert "recreate the environment" in tools.problems[0]
