"""Programs in a sandbox see the tools in `~/.local/bin` and `/opt`, but no scripts with keys."""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from manus.config.safety_settings import SandboxSettings
from manus.config.settings import Settings
from manus.execution.environment.report import report_tools
from manus.execution.environment.user_programs import OPT, expose_user_programs
from manus.execution.safe_open import write_file
from manus.execution.session import Session
from manus.tools.bash import Bash
from tests.helpers.sandboxes import Kind
from tests.helpers.sessions import session_in

SECRET = "sk-secret"
DEPLOY = f"#!/bin/sh\n# by hand\nexport TOKEN={SECRET}\necho deployed\n"
STARTER = """\
#!{python}
# -*- coding: utf-8 -*-
import re
import sys
from black import main
if __name__ == '__main__':
    sys.argv[0] = re.sub(r'(-script\\.pyw|\\.exe)?$', '', sys.argv[0])
    sys.exit(main())
"""


def write(path: Path, text: str = "", mode: int = 0o644) -> Path:
    write_file(path, text.encode(), mode)
    return path


def link(path: Path, target: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(target)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX", "XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("PATH", f"{home}/.local/bin:/usr/bin:/bin")
    return home


@pytest.fixture
async def session(home: Path, sandbox_kind: Kind) -> AsyncIterator[Session]:
    settings = Settings(sandbox=SandboxSettings(kind=sandbox_kind))
    session = session_in(home / "project", settings=settings)
    yield session
    await session.close()


async def bash(session: Session, command: str) -> str:
    return (await Bash(session=session).observe(command=command)).text


def install_tools(home: Path) -> list[Path]:
    """Install tools like pipx, poetry, npm and users do; return the files that contain a secret."""
    shared = home / ".local/share"
    for prefix, name in (
        (shared / "pipx/venvs/ruff", "ruff"),
        (shared / "pypoetry/venv", "poetry"),
    ):
        options = ["--without-pip", str(prefix)]
        subprocess.run([sys.executable, "-m", "venv", *options], check=True)
        write(prefix / "bin" / name, f"#!{prefix}/bin/python\nprint('this is {name}')\n", 0o755)
        link(home / ".local/bin" / name, prefix / "bin" / name)
    package = home / ".local/lib/node_modules/tool"
    write(package / "cli.sh", '#!/bin/sh\ncat "$(dirname "$(realpath "$0")")/words"\n', 0o755)
    write(package / "words", "this is tool\n")
    link(home / ".local/bin/tool", package / "cli.sh")
    shutil.copy(os.path.realpath("/bin/echo"), home / ".local/bin/say")
    hidden = [
        write(home / ".local/bin/deploy", DEPLOY, 0o755),
        write(home / ".local/bin/keys.txt", SECRET),
        write(home / ".local/bin/more/deploy", DEPLOY, 0o755),
        write(home / "scripts/release", DEPLOY, 0o755),
        write(shared / "pipx/venvs/ruff/pipx_metadata.json", SECRET),
        write(shared / "pipx/venvs/other/lib/key", SECRET),
        write(shared / "pypoetry/venv/pip.conf", SECRET),
    ]
    link(home / ".local/bin/release", home / "scripts/release")
    return [*hidden, home / ".local/bin/release"]


@pytest.mark.sandboxes("bubblewrap", "landlock")
async def test_tools_in_the_home_are_found_and_scripts_with_keys_are_not(
    session: Session, home: Path
) -> None:
    hidden = install_tools(home)
    printed = await bash(session, "ruff; poetry; tool; say a")
    assert printed.splitlines()[:4] == ["this is ruff", "this is poetry", "this is tool", "a"]
    assert SECRET not in await bash(session, f"cat {' '.join(map(str, hidden))}")
    assert "deployed" not in await bash(session, "deploy; release")


@pytest.mark.sandboxes("bubblewrap", "landlock")
async def test_a_script_named_in_the_settings_is_visible(session: Session, home: Path) -> None:
    install_tools(home)
    sandbox = SandboxSettings(kind=session.settings.sandbox.kind, read=("~/.local/bin",))
    session.settings = replace(session.settings, sandbox=sandbox)
    assert "deployed" in await bash(session, "deploy")


def test_hidden_programs_are_reported(home: Path) -> None:
    install_tools(home)
    report = report_tools(home / "project", SandboxSettings())
    names = [f"{home}/.local/bin/{name}" for name in ("deploy", "release")]
    assert list(report.hidden) == names
    assert "`read` under `[sandbox]` shows more" in report.describe()
    assert report_tools(home / "project", SandboxSettings(kind="none")).hidden == ()
    settings = SandboxSettings(read=("~/.local/bin", "~/scripts"))
    assert report_tools(home / "project", settings).hidden == ()


def test_some_of_many_hidden_programs_are_listed(home: Path) -> None:
    for number in range(9):
        write(home / f".local/bin/script{number}", DEPLOY, 0o755)
    text = report_tools(home / "project", SandboxSettings()).describe()
    assert f"{home}/.local/bin/script4, 4 more programs, as in {home}/.local/bin (" in text
    assert "script5" not in text


@pytest.fixture
def opt_folder() -> Iterator[Path]:
    """Provide a folder of the test's own in `/opt`."""
    if not os.access(OPT, os.W_OK):
        pytest.skip("only who may write to /opt can install there")
    folder = OPT / f"manus-test-{secrets.token_hex(4)}"
    folder.mkdir()
    yield folder
    shutil.rmtree(folder)


@pytest.mark.sandboxes("bubblewrap", "landlock")
async def test_only_programs_of_opt_on_the_path_are_visible(
    session: Session, opt_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(opt_folder / "tool/bin/tool", '#!/bin/sh\ncat "$0/../../share/words"\n', 0o755)
    write(opt_folder / "tool/bin/other", f"#!/bin/sh\ncat {opt_folder}/tool/share/words", 0o755)
    write(opt_folder / "tool/share/words", "this is a tool\n")
    secrets_there = [
        write(opt_folder / "tool/etc/settings", SECRET),
        write(opt_folder / "service/bin/service", DEPLOY, 0o755),
        write(opt_folder / "service/.env", SECRET),
    ]
    monkeypatch.setenv("PATH", f"{opt_folder}/tool/bin", prepend=":")
    assert (await bash(session, "other")).startswith("this is a tool\n")
    assert SECRET not in await bash(session, f"cat {' '.join(map(str, secrets_there))}")


IN_OPT = {
    "a Java": (("bin/java", "lib/modules", "conf/security/java.security", "secret"), 3),
    "a Maven": (("bin/mvn", "lib/a.jar", "boot/b.jar", "conf/settings.xml", "secret"), 3),
    "a Go": (("bin/go", "src/runtime/a.go", "pkg/tool", "secret"), 3),
    "a conda": (("bin/conda", "conda-meta/history", "condabin/conda", ".condarc", "envs/a/b"), 1),
}


@pytest.mark.parametrize("name", IN_OPT)
def test_an_installation_in_opt(home: Path, tmp_path: Path, name: str) -> None:
    files, count = IN_OPT[name]
    prefix = tmp_path / "opt" / "app"
    for file in files:
        write(prefix / file, "#!/bin/sh\n", 0o755)
    programs = expose_user_programs(f"{prefix}/bin:/usr/bin", home, tmp_path / "opt")
    visible = [f for f in files if any(map((prefix / f).is_relative_to, programs.exposure.read))]
    assert visible[:count] == list(files[:count])
    assert not {"secret", "conf/settings.xml", ".condarc", "envs/a/b"} & set(visible)


STARTERS = {
    "of pip": (STARTER.format(python="/usr/bin/python3"), True),
    "by hand": (DEPLOY, False),
    "by hand in Python": (f"#!/usr/bin/python3\nTOKEN = '{SECRET}'\n", False),
    "with one line more": (STARTER.format(python="/usr/bin/python3") + f"# {SECRET}\n", False),
}


@pytest.mark.parametrize("name", STARTERS)
def test_which_scripts_are_starters(home: Path, name: str) -> None:
    text, is_shown = STARTERS[name]
    script = write(home / ".local/bin/script", text, 0o755)
    programs = expose_user_programs(str(script.parent), home)
    assert (script not in programs.exposure.hidden) == is_shown
    assert (script not in programs.hidden) == is_shown


def test_programs_that_are_not_on_the_path_stay_hidden(home: Path, tmp_path: Path) -> None:
    install_tools(home)
    programs = expose_user_programs("/usr/bin:relative", home, tmp_path / "opt")
    assert programs.exposure.read == ()
