"""Programs change repositories through the host, and plant nothing that the user's git would run.

After each attempt the user's own git runs in the workspace and in all its repositories. Planted
code leaves a file outside the workspace, which no program in the sandbox can write.
"""

from __future__ import annotations

import os
import shutil
import subprocess
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

CLOSED = pytest.mark.sandboxes("bubblewrap")
ALL = pytest.mark.sandboxes("bubblewrap", "landlock", "none")
WHO = "git config user.name U; git config user.email u@x.example"
FSMONITOR = r"printf '[core]\n\tfsmonitor = {run}\n' >>"
"""`{run}` is a script that the attempt has written, which leaves the mark."""
PLANTS = {
    "a setting": "git config core.fsmonitor {run}",
    "a setting by hand": f"{FSMONITOR} .git/config",
    "a replaced configuration": f"cp .git/config c; {FSMONITOR} c; mv -f c .git/config",
    "a configuration behind a moved folder": f"mv .git g; cp -r g .git; {FSMONITOR} .git/config",
    "a folder of hooks": "mkdir h; cp {run} h/post-index-change; git config core.hooksPath $PWD/h",
    "a hook": "mkdir -p .git/hooks; cp {run} .git/hooks/post-index-change",
    "another hook": "cp {run} .git/hooks/pre-commit",
    "a linked folder of hooks": (
        "mkdir h; cp {run} h/pre-commit; rm -rf .git/hooks; ln -s $PWD/h .git/hooks"
    ),
    "an included file": f"{FSMONITOR} inc; git config include.path ../inc",
    "an included file by hand": (
        rf"{FSMONITOR} inc; printf '[include]\n\tpath = ../inc\n' >> .git/config"
    ),
    "a file included by the folder": (
        f"{FSMONITOR} inc; git config includeIf.gitdir:/.path $PWD/inc"
    ),
    "the configuration of a worktree": (
        f"git config extensions.worktreeConfig true; {FSMONITOR} .git/config.worktree"
    ),
    "a common directory": (f"cp -r .git g; {FSMONITOR} g/config; echo $PWD/g > .git/commondir"),
    "a file in place of the folder": (
        f"cp -r .git g; {FSMONITOR} g/config; rm -rf .git; echo gitdir: g > .git"
    ),
    "a link in place of the folder": (
        f"cp -r .git g; {FSMONITOR} g/config; rm -rf .git; ln -s g .git"
    ),
    "a repository without its own folder": (
        f"git init -q --bare bare; git -C bare config core.worktree $PWD; {FSMONITOR} bare/config"
    ),
    "a new repository": f"git init -q new; {FSMONITOR} new/.git/config",
    "a repository that was there": f"{FSMONITOR} nested/.git/config",
    "a repository in a moved folder": (
        f"mv nested n; mkdir nested; cp -r n/.git nested/.git; {FSMONITOR} nested/.git/config"
    ),
    "a submodule": f"{FSMONITOR} .git/modules/sub/config",
    "a submodule's file": (
        f"cp -r .git/modules/sub g; {FSMONITOR} g/config; git -C g config --unset core.worktree; "
        "rm -f sub/.git; echo gitdir: ../g > sub/.git"
    ),
    "a submodule where nothing is searched": (
        f"git init -q node_modules/x; cd node_modules/x; {WHO}; git commit -q --allow-empty -m X; "
        f"cd ../..; git add -f node_modules/x; {FSMONITOR} node_modules/x/.git/config"
    ),
    "a worktree": f"{FSMONITOR} .git/worktrees/tree/config.worktree",
    "a worktree's file": (
        f"cp -r .git g; {FSMONITOR} g/config; rm -f tree/.git; echo gitdir: $PWD/g > tree/.git"
    ),
    "a filter": "echo '* filter=x' > .gitattributes; git config filter.x.clean {run}; echo 2 > a",
    "a filter by hand": (
        "echo '* filter=x' > .gitattributes; echo 2 > a; "
        r"printf '[filter \"x\"]\n\tclean = {run}\n' >> .git/config"
    ),
    "a converter to text": (
        "echo '* diff=x' > .gitattributes; git config diff.x.textconv {run}; echo 2 > a"
    ),
    "a program for differences": "git config diff.external {run}; echo 2 > a",
    "an alias": "git config alias.st '!{run}'",
    "a program for connections": (
        "git config core.sshCommand {run}; git config remote.origin.url ssh://x.example/a"
    ),
    "a remote that is a program": (
        "git remote add origin 'ext::{run}'; git config protocol.ext.allow always"
    ),
    "an editor": "git config core.editor {run}; echo 2 > a",
    "through git's own options": "git -c core.hooksPath=$PWD/h -c alias.x='!{run}' x; git x",
    "a rebase that runs it": "git rebase --exec {run} HEAD~1",
    "a search that runs it": "git bisect start; git bisect run {run}",
}
USER = (
    *(
        "git status",
        "git diff HEAD",
        "git log -p -1",
        "git st",
        "git commit -qam Mine",
        "git gc -q",
    ),
    "git commit --allow-empty",
    "git fetch",
)


def git(folder: Path, script: str) -> str:
    """Run a script outside the sandbox."""
    quiet = {"EDITOR": "true", "VISUAL": "true", "GIT_TERMINAL_PROMPT": "0"}
    process = subprocess.run(
        ["sh", "-c", script],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env={**os.environ, **quiet},
    )
    return process.stdout


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Provide a folder with a repository that has a nested one, a submodule and a worktree."""
    folder = tmp_path_factory.mktemp("template")
    root = folder / "work"
    root.mkdir()
    git(root, f"git init -q -b main; {WHO}; echo 1 > a; git add a; git commit -qm First")
    git(root, "git commit -q --allow-empty -m Second; git worktree add -q tree")
    git(root, f"git init -q nested; cd nested; {WHO}; git commit -q --allow-empty -m N")
    git(folder, f"git init -q lib; cd lib; {WHO}; echo 1 > l; git add l; git commit -qm Lib")
    git(root, "git -c protocol.file.allow=always submodule add -q ../lib sub; git commit -qm Sub")
    assert (root / ".git" / "modules" / "sub" / "config").exists()
    return folder


@pytest.fixture
def repository(template: Path, tmp_path: Path) -> Path:
    """Provide a copy of the template's repository."""
    for name in ("work", "lib"):
        shutil.copytree(template / name, tmp_path / name, symlinks=True)
    root = tmp_path / "work"
    # `git worktree repair` would follow the copied link and repair the template instead
    record = root / ".git" / "worktrees" / "tree"
    (root / "tree" / ".git").write_text(f"gitdir: {record}\n")
    (record / "gitdir").write_text(f"{root / 'tree' / '.git'}\n")
    git(root, "git submodule --quiet sync; git update-index -q --refresh")
    assert str(template) not in git(root, "cat .git/config; git worktree list")
    return root


@pytest.fixture
async def session(repository: Path, sandbox_kind: Kind) -> AsyncIterator[Session]:
    settings = Settings(sandbox=SandboxSettings(kind=sandbox_kind))
    session = session_in(repository, settings=settings)
    yield session
    await session.close()


async def run(session: Session, script: str, *, writes_git: bool = True) -> str:
    """Run a script in the session's shell, and return what the model reads."""
    return (await Bash(session=session).observe(command=script, writes_git=writes_git)).text


@CLOSED
@pytest.mark.sample(every=4, landlock=(), none=())
@pytest.mark.parametrize("name", PLANTS)
@pytest.mark.parametrize("writes_git", [True, pytest.param(False, marks=pytest.mark.exhaustive)])
async def test_nothing_planted_runs(
    session: Session, name: str, writes_git: bool, tmp_path: Path
) -> None:
    root, mark = session.workspace.root, tmp_path / "mark"
    program = root / "run.sh"
    program.write_text(f"#!/bin/sh\necho ran >> {mark}\n")
    program.chmod(0o755)
    await run(session, PLANTS[name].replace("{run}", str(program)), writes_git=writes_git)
    for folder in (root, *(root / each for each in ("nested", "sub", "tree", "bare", "new"))):
        if folder.exists():
            for command in USER:
                git(folder, f"timeout 20 {command}")
    assert not mark.exists()


@pytest.mark.parametrize(
    "name", ["a setting", "a hook", "an alias", "a submodule where nothing is searched"]
)
def test_the_attempts_are_real(repository: Path, name: str, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    program = tmp_path / "run.sh"
    program.write_text(f"#!/bin/sh\necho ran >> {mark}\n")
    program.chmod(0o755)
    git(repository, PLANTS[name].replace("{run}", str(program)))
    for command in USER:
        git(repository, f"timeout 20 {command}")
    assert mark.exists()


WORKS = {
    "status": ("git status -s", "?? nested/"),
    "add and commit": (
        "echo 2 > b; git add b; git commit -qm Third; git log -1 --format=%s",
        "Third",
    ),
    "commit -a": ("echo 2 > a; git commit -qam Third; git log -1 --format=%s:%an", "Third:U"),
    "amend": ("git commit -q --amend -m Changed; git log -1 --format=%s", "Changed"),
    "amend without an editor": ("git commit -q --amend --no-edit; git log -1 --format=%s", "Sub"),
    "a message from stdin": (
        "echo '李' | git commit -q --allow-empty -F -; git log -1 --format=%s",
        "李",
    ),
    "a message from a file": (
        "echo Text > /tmp/m 2>/dev/null || echo Text > m; "
        "git commit -q --allow-empty -F $(ls /tmp/m 2>/dev/null || echo m); "
        "git log -1 --format=%s; rm -f /tmp/m m",
        "Text",
    ),
    "another author": (
        "GIT_AUTHOR_NAME=Ana git -c user.email=a@b.example commit -q --allow-empty -m X; "
        "git log -1 --format=%an:%ce",
        "Ana:a@b.example",
    ),
    "a new branch": ("git checkout -qb next; git branch --show-current", "next"),
    "switch": ("git switch -qc next; git switch -q main; git branch --show-current", "main"),
    "a deleted branch": ("git branch next; git branch -qd next; git branch", "* main"),
    "a tag": ("git tag v1; git tag -a v2 -m Two; git tag", "v1\nv2"),
    "a stash": ("echo 2 > a; git stash -q; cat a; git stash pop -q; cat a", "1\n2"),
    "a merge": (
        "git checkout -qb next; echo 2 > a; git commit -qam Next; git checkout -q main; "
        "git commit -q --allow-empty -m Main; git merge -q next -m Merged; git log -1 --format=%s",
        "Merged",
    ),
    "a conflict": (
        "git checkout -qb next; echo 2 > a; git commit -qam Next; git checkout -q main; "
        "echo 3 > a; git commit -qam Main; git merge next; echo 4 > a; git add a; "
        "git commit -q --no-edit; cat a; git status -s --untracked-files=no",
        "4",
    ),
    "a rebase": (
        "git checkout -qb next; echo 2 > b; git add b; git commit -qm Next; git checkout -q main; "
        "git commit -q --allow-empty -m Main; git rebase -q main next; git log --format=%s -2",
        "Next\nMain",
    ),
    "cherry-pick and revert": (
        "git checkout -qb next; echo 2 > b; git add b; git commit -qm Next; git checkout -q main; "
        "git cherry-pick next; git revert --no-edit HEAD; git log -2 --format=%s",
        'Revert "Next"\nNext',
    ),
    "reset and restore": (
        "echo 2 > a; git add a; git reset -q; git restore a; cat a; git reset -q --hard HEAD; "
        "git log -1 --format=%s",
        "1\nSub",
    ),
    "rm and mv": ("git mv a b; git rm -q --cached b; git status -s a b", "D  a\n?? b"),
    "a patch": (
        "echo 2 > a; git diff > p; git checkout -q a; git apply --index p; "
        "git diff --cached --stat",
        "a | 2 +-",
    ),
    "a patch from stdin": (
        "echo 2 > a; git diff > p; git checkout -q a; git apply --cached < p; git status -s a",
        "MM a",
    ),
    "a new repository": (
        f"mkdir n; cd n; git init -q; {WHO}; echo 1 > x; git add .; git commit -qm One; "
        "git branch -m trunk; git log --format=%s",
        "One",
    ),
    "a clone": ("git clone -q nested copy 2>&1; git -C copy log --format=%s", "N"),
    "a commit in a worktree": (
        "cd tree; echo 2 > a; git commit -qam Tree; git log -1 --format=%s tree; cd ..",
        "Tree",
    ),
    "a new worktree": (
        "git worktree add -q other; cd other; git commit -q --allow-empty -m O; "
        "git -C .. log -1 --format=%s other --; cd ..",
        "O",
    ),
    "back to an earlier commit": (
        "git reset -q --hard HEAD~1; ls .gitmodules; git merge -q main@{1}; ls .gitmodules",
        "\n.gitmodules",
    ),
    "a new submodule": (
        "git -c protocol.file.allow=always submodule --quiet add ./nested more; "
        "git commit -qm More; git submodule status more; git log -1 --format=%s",
        "More",
    ),
    "a commit in a submodule": (
        # the configuration of a submodule cannot be changed, and the machine's may name nobody
        "cd sub; echo 2 > l; git -c user.name=U -c user.email=u@x.example commit -qam L; cd ..; "
        "git add sub; git commit -qm Up; "
        "git log -1 --format=%s; git status -s --untracked-files=no; git -C sub log -1 --format=%s",
        "Up\nL",
    ),
    "a nested repository": (
        "git -C nested commit -q --allow-empty -m M; git -C nested log -1 --format=%s",
        "M",
    ),
    "a push to a folder": (
        "git init -q --bare bare; git push -q $PWD/bare main; git -C bare log -1 --format=%s main",
        "Sub",
    ),
    "notes and plumbing": (
        "git notes add -m N; git notes show; git update-ref refs/x HEAD; git for-each-ref refs/x",
        "refs/x",
    ),
}


@ALL
@pytest.mark.sample(
    every=2,
    landlock=("status", "add and commit", "a rebase", "a clone", "a new worktree"),
    none=("status", "add and commit", "a new worktree"),
)
@pytest.mark.parametrize("name", WORKS)
async def test_ordinary_commands_work(session: Session, name: str) -> None:
    script, expected = WORKS[name]
    observation = await run(session, script)
    assert expected in observation
    assert "[exit code 0" in observation
    assert "quarantine" not in observation
    # the user's own git agrees
    assert "fatal" not in git(session.workspace.root, "git fsck 2>&1; git status 2>&1")


@CLOSED
async def test_the_whole_directory_is_read_only(session: Session) -> None:
    script = (
        "for d in .git .git/refs/heads .git/modules/sub .git/worktrees/tree nested/.git; do "
        "echo x > $d/new && echo open; done; echo x > sub/.git && echo open; "
        "rm tree/.git && echo open"
    )
    observation = await run(session, script, writes_git=False)
    assert "open" not in observation.splitlines()
    assert "Read-only file system" in observation


@CLOSED
async def test_a_repository_created_in_the_run_is_read_only_for_later_programs(
    session: Session,
) -> None:
    await run(session, f"git init -q new; cd new; {WHO}; git commit -q --allow-empty -m One")
    code = (
        "import subprocess, os\nos.chdir('new')\n"
        "try: open('.git/x', 'w')\nexcept OSError as error: print(error.strerror)\n"
        "print(subprocess.check_output(['git', 'log', '-1', '--format=%s'], text=True))"
    )
    observation = await PythonExecute(session=session).observe(code=code)
    assert observation.text.startswith("Read-only file system\nOne")
    script = "git -C new commit -q --allow-empty -m Two; git -C new log -1 --format=%s"
    assert (await run(session, script)).startswith("Two")


@ALL
async def test_an_alias_of_the_user(session: Session) -> None:
    root = session.workspace.root
    git(root, "git config alias.ci 'commit -q'; git config alias.last 'log -1 --format=%s'")
    observation = await run(session, "git ci --allow-empty -m 'By alias' && git last")
    assert observation.startswith("By alias")


@CLOSED
async def test_a_worktree_of_a_repository_elsewhere(tmp_path: Path) -> None:
    main, tree, other = tmp_path / "main", tmp_path / "tree", tmp_path / "other"
    for folder in (main, other):
        folder.mkdir()
        git(folder, f"git init -q -b main; {WHO}; git commit -q --allow-empty -m Secret")
    git(main, "git worktree add -q ../tree")
    session = session_in(tree, settings=Settings(sandbox=SandboxSettings(kind="bubblewrap")))
    try:
        await run(session, f"touch {main}/.git/x; touch .git", writes_git=False)
        assert not (main / ".git" / "x").exists()
        script = "git commit -q --allow-empty -m Tree && git log -1 --format=%s"
        assert (await run(session, script)).startswith("Tree")
        # a planted file leads to no repository that does not know this folder
        planted = f"mkdir sub; echo gitdir: {other}/.git > sub/.git; git -C sub log --format=%s"
        assert "Secret" not in await run(session, planted)
    finally:
        await session.close()
    assert git(main, "git log -1 --format=%s tree") == "Tree\n"


WORKFLOW = ".github/workflows/ci.yml"


def with_another_branch(root: Path) -> None:
    """Commit files that configure other programs, with different ones on a branch."""
    git(root, f"mkdir -p .github/workflows .vscode; echo 1 > {WORKFLOW}; echo 1 > .vscode/a")
    git(root, "git add .; git commit -qm Settings; git checkout -qb next; mkdir .idea")
    git(root, f"echo 2 > {WORKFLOW}; echo 2 > .vscode/b; echo 2 > .idea/x; git rm -q .vscode/a")
    git(root, "git add .; git commit -qm Next; git checkout -q main")


@CLOSED
async def test_another_branch_may_bring_its_settings(repository: Path) -> None:
    with_another_branch(repository)
    session = session_in(repository, settings=Settings(sandbox=SandboxSettings(kind="bubblewrap")))
    try:
        observation = await run(
            session, f"git checkout -q next && cat {WORKFLOW} .vscode/b .idea/x"
        )
        assert observation.splitlines()[:3] == ["2", "2", "2"]
        assert not (repository / ".vscode" / "a").exists()
        assert (
            await run(session, "git status -s --untracked-files=no") == "[exit code 0, no output]"
        )
        observation = await run(session, f"git checkout -q main && cat {WORKFLOW} .vscode/a")
        assert observation.splitlines()[:2] == ["1", "1"]
        assert not (repository / ".idea").exists()
    finally:
        await session.close()


@CLOSED
@pytest.mark.parametrize("name", [".envrc", WORKFLOW, ".vscode/new", ".idea/x", ".idea/new"])
async def test_content_committed_by_the_run_is_not_restored(repository: Path, name: str) -> None:
    with_another_branch(repository)
    before = (repository / name).read_text() if (repository / name).exists() else None
    session = session_in(repository, settings=Settings(sandbox=SandboxSettings(kind="bubblewrap")))
    try:
        await run(
            session,
            f"echo planted > p; id=$(git hash-object -w p); git update-index --add --cacheinfo "
            f"100644,$id,{name}; git commit -qm Planted; git checkout -q -f HEAD -- .; "
            "git reset -q --hard",
        )
    finally:
        await session.close()
    now = (repository / name).read_text() if (repository / name).exists() else None
    assert git(repository, f"git show HEAD:{name}") == "planted\n", "the attempt is real"
    assert now == before


@CLOSED
async def test_a_command_ends_with_the_call(session: Session) -> None:
    """A program that has stopped reading is ended, and the repository stays usable."""
    git(session.workspace.root, "git config filter.slow.clean 'sleep 60'")
    script = "echo '* filter=slow' > .gitattributes; echo 2 > a; git add a"
    observation = await Bash(session=session).observe(command=script, timeout=2, writes_git=True)
    assert "stopped" in observation.text
    await run(session, "rm .gitattributes; rm -f .git/index.lock; git add a; git status -s")


CONFIGURED: dict[str, tuple[dict[str, str | None], str, str]] = {
    "a remote": (
        {
            "remote.o.url": "https://git.example/a",
            "remote.o.fetch": "+refs/heads/*:refs/remotes/o/*",
        },
        "git remote -v",
        "https://git.example/a (fetch)",
    ),
    "an upstream branch": (
        {"branch.next.remote": ".", "branch.next.merge": "refs/heads/main"},
        "git branch next; git branch -vv",
        "[main",
    ),
    "a submodule": (
        {"submodule.more.active": "true", "submodule.more.url": "./nested"},
        "git -c protocol.file.allow=always submodule -q add ./nested more; git submodule status",
        "more",
    ),
    "a name": (
        {"user.name": "Ana"},
        "git commit -q --allow-empty -m X; git log -1 --format=%an",
        "Ana",
    ),
    "a removed entry": ({"user.name": None}, "git config --local user.name || echo none", "none"),
}


@ALL
@pytest.mark.sample(landlock=("a remote",), none=("a remote",))
@pytest.mark.parametrize("name", CONFIGURED)
async def test_the_host_sets_the_configuration(session: Session, name: str) -> None:
    settings, script, expected = CONFIGURED[name]
    observation = await Bash(session=session).observe(
        command=script, git_config=settings, writes_git=True
    )
    assert "[set in the configuration of the repository: " in observation.text
    assert expected in observation.text
    key, value = next(iter(settings.items()))
    assert git(session.workspace.root, f"git config --local {key}").strip() == (value or "")


@CLOSED
@pytest.mark.parametrize(
    "command", ["git branch -u main next", "git config user.name X", "git remote add o x"]
)
async def test_nothing_is_claimed_that_was_not_set(session: Session, command: str) -> None:
    before = git(session.workspace.root, "git branch next; cat .git/config")
    assert "nothing was set" in await run(session, command)
    assert git(session.workspace.root, "cat .git/config") == before


@CLOSED
@pytest.mark.parametrize("command", ["git stash", "git commit -qam X", "git -C nested tag v1"])
async def test_a_failed_command_names_the_argument(session: Session, command: str) -> None:
    assert "`writes_git`" in await run(session, f"echo 2 > a; {command}", writes_git=False)


@CLOSED
async def test_the_second_shell_has_the_folder_and_the_variables(session: Session) -> None:
    await run(session, "cd nested; export A='x y' B=$'1\\n2'; C=3", writes_git=False)
    observation = await run(session, 'echo "$A/$B/$C"; git tag v1; git tag')
    assert observation.startswith("x y/1\n2/\nv1\n")
    assert "in nested" in observation
