"""The only place that resolves paths, and which calls run concurrently."""

import asyncio
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from manus.config.files import data_folder, state_folder
from manus.calls.session import EVERYTHING, Resource, ResourceLocks
from manus.workspace.workspace import WORKSPACE, Workspace
from manus.state.errors import ToolError, UsageError


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    workspace = Workspace(tmp_path / "ws")
    workspace.prepare()
    return workspace


def test_an_unusable_workspace_is_wrong_usage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / ".manus").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UsageError):
        Workspace(tmp_path / "linked").prepare()
    assert list((tmp_path / "elsewhere").iterdir()) == []
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match=r"Not a directory.*MANUS_WORKSPACE"):
        Workspace(tmp_path / "file" / "ws").prepare()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    with pytest.raises(UsageError, match="XDG_STATE_HOME"):
        Workspace(tmp_path / "ws").prepare()


def test_names_below_the_root_and_others(workspace: Workspace, subtests: pytest.Subtests) -> None:
    for name in ("a/b.txt", "./a/b.txt", "a//b.txt", "a/../a/b.txt", "new/x"):
        with subtests.test(name=name):
            real = workspace.root / os.path.normpath(name)
            assert (
                workspace.readable(name) == workspace.readable(f"{workspace.root}/{name}") == real
            )
            assert workspace.show(real) == os.path.normpath(name)
    for name in ("..", "a/../../x", "/etc/passwd", "/", "../ws-other/file"):
        is_refused = pytest.raises(ToolError, match="outside the workspace")
        with subtests.test(name=name), is_refused:
            workspace.readable(name)
    for name in ("", "  ", "a\0b", "a\ud800b"):
        with subtests.test(name=name), pytest.raises(ToolError, match="give a path"):
            workspace.readable(name)
    # links are resolved before the check
    (workspace.root / "out").symlink_to(workspace.root.parent)
    (workspace.root / "real").mkdir()
    (workspace.root / "in").symlink_to("real")
    with pytest.raises(ToolError, match=r"out/secret is outside"):
        workspace.readable("out/secret")
    assert workspace.readable("in/file") == workspace.root / "real" / "file"


LOOK_ALIKES = [
    # the file's name, the name that is given
    ("Screenshot 3.04.05\u202fPM.png", "Screenshot 3.04.05 PM.png"),
    ("a\u00a0b.txt", "a b.txt"),
    ("re\u0301sume\u0301.txt", "r\u00e9sum\u00e9.txt"),
    ("r\u00e9sum\u00e9.txt", "re\u0301sume\u0301.txt"),
    ("L\u2019\u00e9t\u00e9.csv", "L'\u00e9t\u00e9.csv"),
    ("\u201cq\u201d.md", '"q".md'),
    ("2024\u20132025.csv", "2024-2025.csv"),
    ("\uff21\uff22\uff23.txt", "ABC.txt"),
    ("\ufb01le.txt", "file.txt"),
    ("no\u3000te.txt", "no te.txt"),
    ("pa\u200bth.txt", "path.txt"),
    ("\u304b\u3099.txt", "\u304c.txt"),
    ("\u1112\u1161\u11ab.txt", "\ud55c.txt"),
    ("\u2009thin\u2009.txt", " thin .txt"),
]


@pytest.mark.parametrize(("real_name", "name"), LOOK_ALIKES)
def test_the_only_file_whose_name_looks_the_same(
    workspace: Workspace, real_name: str, name: str
) -> None:
    path = f"sub\u00a0folder/{real_name}"
    real = workspace.root / path
    real.parent.mkdir()
    real.touch()
    for written in (path, f"sub folder/{name}", f"{workspace.root}/sub folder/{name}"):
        assert workspace.readable(written) == workspace.writable(written, existing=True) == real
    assert ascii(path) in workspace.describe_name(f"sub folder/{name}", real)
    assert workspace.describe_name(path, real) == ""
    literal = workspace.root / "sub folder" / name
    assert workspace.writable(f"sub folder/{name}") == literal, "a new file has the name as given"
    assert workspace.readable("sub folder/other") == workspace.root / "sub folder/other"


def test_names_that_look_the_same_are_no_way_out_and_no_choice(workspace: Workspace) -> None:
    (workspace.root / "a\u00a0b").symlink_to("/etc")
    with pytest.raises(ToolError, match="is outside the workspace"):
        workspace.readable("a b")
    for name in ("c\u00a0d", "c\u2009d"):
        (workspace.root / name).touch()
    with pytest.raises(ToolError, match=r"2 files .*'c\\xa0d', 'c\\u2009d'"):
        workspace.readable("c d")


def test_our_records_can_be_read_and_not_written(
    workspace: Workspace, subtests: pytest.Subtests
) -> None:
    (workspace.root / "link").symlink_to(".manus")
    assert workspace.readable(".manus/observations/x") == workspace.private / "observations/x"
    for name in (".manus", ".manus/journal/x", "link/x", "a/../.manus/x"):
        with subtests.test(name=name), pytest.raises(ToolError, match="own records"):
            workspace.writable(name)
    assert (workspace.private / ".gitignore").read_text() == "*\n"
    assert workspace.writable(".manusx") == workspace.root / ".manusx"
    home = Workspace(os.path.commonpath([state_folder(), data_folder()]))
    for folder in (state_folder(), data_folder()):
        with subtests.test(folder=folder), pytest.raises(ToolError, match="own records"):
            home.writable(f"{folder}/x")


def test_all_names_of_a_path_touch_the_same(
    workspace: Workspace, subtests: pytest.Subtests
) -> None:
    names = ["a/b", "./a/b", "a//b", "a/./b/", f"{workspace.root}/a/b"]
    assert {workspace.resource(name) for name in names} == {"workspace/a/b"}
    assert workspace.resource(".") == workspace.resource(str(workspace.root)) == "workspace"
    for name in ("a/../b", "../ws/a", "/other/name/of/the/root/a"):
        with subtests.test(name=name):
            assert Resource(workspace.resource(name)).collides(Resource("workspace/anything"))


PAIRS = [
    (Resource("a"), Resource("a"), True),
    (Resource("a"), Resource("b"), False),
    (Resource("a", write=False), Resource("a", write=False), False),
    (Resource("a", write=False), Resource("a"), True),
    (Resource(WORKSPACE), Resource("workspace/x.py"), True),
    (Resource("workspace/x"), Resource("workspace/x/y"), True),
    (Resource("workspace/x"), Resource("workspace/xy"), False),
    (Resource(EVERYTHING), Resource("browser", write=False), True),
    (Resource(EVERYTHING, write=False), Resource("browser", write=False), False),
]


def test_two_resources(subtests: pytest.Subtests) -> None:
    for first, second, collide in PAIRS:
        with subtests.test(first=first, second=second):
            assert first.collides(second) is second.collides(first) is collide, (first, second)


async def test_a_cancelled_waiter_does_not_block_the_others() -> None:
    locks, inside, release = ResourceLocks(), list[str](), asyncio.Event()

    async def work(name: str) -> None:
        async with locks.hold([Resource(name)]):
            inside.append(name)
            await release.wait()

    async def settled() -> list[str]:
        """Return who holds a lock once every task has advanced as far as possible."""
        for _ in range(20):
            await asyncio.sleep(0)
        return inside

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(work("a"))
        waiting = tasks.create_task(work(EVERYTHING))
        tasks.create_task(work("b"))
        assert await settled() == ["a"]
        waiting.cancel()
        assert await settled() == ["a", "b"]
        release.set()


_TOUCH = st.builds(Resource, st.sampled_from(["*", "w", "w/a", "w/b", "x"]), st.booleans())


@settings(max_examples=40, deadline=None)
@given(calls=st.lists(st.frozensets(_TOUCH, max_size=3), max_size=8))
def test_all_acquire_the_lock_and_colliding_ones_in_order(calls: list[frozenset[Resource]]) -> None:
    locks, order, inside = ResourceLocks(), list[int](), list[int]()

    async def call(number: int) -> None:
        async with locks.hold(calls[number]):
            for other in inside:
                assert not any(a.collides(b) for a in calls[number] for b in calls[other])
            inside.append(number)
            order.append(number)
            for _ in range(number % 3):
                await asyncio.sleep(0)
            inside.remove(number)

    async def everything() -> None:
        await asyncio.wait_for(asyncio.gather(*map(call, range(len(calls)))), 60)

    asyncio.run(everything())
    assert sorted(order) == list(range(len(calls)))
    for earlier in range(len(calls)):
        for later in range(earlier + 1, len(calls)):
            if any(a.collides(b) for a in calls[earlier] for b in calls[later]):
                assert order.index(earlier) < order.index(later), (earlier, later)
