"""The user's git settings in a sandbox: a name and habits, no credentials."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from manus.calls.session import Session
from manus.config.safety_settings import SandboxSettings
from manus.config.settings import Settings
from manus.tools.bash import Bash
from tests.helpers.sandboxes import Kind
from tests.helpers.sessions import session_in

SECRET = "ghp_hunter2"
HARMLESS = """\
[user]
    name = Ada \\"A\\" Ł
    email = ada@home.example
    signingkey = 0xDEADBEEF
[init]
    defaultBranch = trunk
[pull]
    rebase
[filter "lfs"]
    clean = git-lfs clean -- %f
    required = true
[commit]
    gpgSign = true
[include]
    path = more.inc
[includeIf "gitdir:project/"]
    path = work.inc
"""
WITH_CREDENTIALS = {
    "a header": f"[http]\n extraHeader = AUTHORIZATION: basic {SECRET}\n",
    "a header for a host": f'[http "https://a.example"]\n extraHeader = X: {SECRET}\n',
    "a proxy": f"[http]\n proxy = http://me:{SECRET}@proxy.example\n",
    "an address": f'[url "https://{SECRET}@a.example/"]\n insteadOf = https://a.example/\n',
    "an address with a name": f'[url "https://me:{SECRET}@a.example/"]\n insteadOf = a:\n',
    "an address to be replaced": f'[url "https://b.example/"]\n insteadOf = https://{SECRET}@b/\n',
    "an address with a query": f'[url "https://a.example/?t={SECRET}"]\n insteadOf = a:\n',
    "a helper": f'[credential]\n helper = "!echo password={SECRET}"\n',
    "mail": f"[sendemail]\n smtpPass = {SECRET}\n",
    "a token": f"[github]\n token = {SECRET}\n user = ada\n",
    "a program as alias": f'[alias]\n up = "!curl -H x:{SECRET} a.example"\n',
    "an alias with a header": f'[alias]\n up = "-c http.extraHeader=token={SECRET} push"\n',
    "a remote": f'[remote "origin"]\n url = https://{SECRET}@a.example/\n',
    "an unknown section": f"[mine]\n key = {SECRET}\n",
    "another program as filter": f'[filter "lfs"]\n smudge = "sh -c {SECRET}"\n',
}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "home"
    (home / "project").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CONFIG_HOME")
    (home / "more.inc").write_text("[core]\n autocrlf = input\n")
    (home / "work.inc").write_text("[user]\n email = ada@work.example\n")
    return home


@pytest.fixture
async def session(home: Path, sandbox_kind: Kind) -> AsyncIterator[Session]:
    settings = Settings(sandbox=SandboxSettings(kind=sandbox_kind))
    session = session_in(home / "project", settings=settings)
    yield session
    await session.close()


async def bash(session: Session, command: str) -> str:
    return (await Bash(session=session).observe(command=command)).text


@pytest.mark.sandboxes("bubblewrap", "landlock")
@pytest.mark.parametrize("place", [".gitconfig", ".config/git/config", "chosen"])
async def test_no_credentials_are_copied(
    session: Session, home: Path, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = home / place
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("[user]\n name = Ada\n" + "".join(WITH_CREDENTIALS.values()))
    (home / ".git-credentials").write_text(f"https://me:{SECRET}@a.example\n")
    if place == "chosen":
        monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(file))
    command = f"git config --list; cat ~/.gitconfig ~/.config/git/* {file} {home}/.git-credentials"
    printed = await bash(session, command)
    assert "user.name=Ada" in printed
    lines = [name for name, text in WITH_CREDENTIALS.items() if text.splitlines()[0] in printed]
    assert SECRET not in printed, lines


@pytest.mark.sandboxes("bubblewrap", "landlock")
async def test_the_name_and_habits_are_kept(session: Session, home: Path) -> None:
    (home / ".gitconfig").write_text(HARMLESS)
    printed = await bash(
        session,
        "git init -q && echo a > a && git add a && git commit -qm 'Add a' && git status -s "
        "&& git log -1 --format='%an %ae' && git branch --show-current && git config --list",
    )
    lines = printed.splitlines()
    assert lines[:2] == ['Ada "A" Ł ada@home.example', "trunk"]
    expected = {"pull.rebase=true", "core.autocrlf=input", "filter.lfs.clean=git-lfs clean -- %f"}
    assert expected <= set(lines)
    assert "signingkey" not in printed


@pytest.mark.sandboxes("bubblewrap", "landlock")
async def test_settings_for_the_folder_apply(session: Session, home: Path) -> None:
    (home / ".gitconfig").write_text(HARMLESS.replace("gitdir:project/", f"gitdir:{home}/project/"))
    (home / "project" / ".git").mkdir()
    for name in ("objects", "refs"):
        (home / "project" / ".git" / name).mkdir()
    (home / "project" / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    assert "ada@work.example" in await bash(session, "git config user.email")
