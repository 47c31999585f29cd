"""A folder is repeatedly swapped with a link to the outside while the agent's files are opened."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from manus.state.errors import ToolError
from manus.tools.browser.fields import _build_payload
from manus.tools.chart_worker import read_table
from manus.tools.editor.editor import Editor
from manus.workspace.workspace import Workspace

ROUNDS = 400
"""Eight openings each."""
_SWAP = """
import ctypes, sys
swap = ctypes.CDLL(None, use_errno=True).renameat2
one, other = (word.encode() for word in sys.argv[1:])
print("ready", flush=True)
while swap(-100, one, -100, other, 2) == 0:
    pass
sys.exit(ctypes.get_errno())
"""


@contextmanager
def swapped(root: Path, outside: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Make `d` alternately a folder of the workspace and a link to the outside."""
    for folder, first in ((root / "d", "a"), (outside, "SECRET")):
        folder.mkdir()
        for name in ("f", "t.csv"):
            (folder / name).write_text(f"{first},b\n1,2\n")
    (root / "link").symlink_to(outside)
    command = [sys.executable, "-c", _SWAP, str(root / "d"), str(root / "link")]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as swapper:
        assert swapper.stdout is not None
        assert swapper.stdout.readline() == b"ready\n"
        yield swapper
        swapper.kill()


def _state(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {f.name: (f.read_bytes(), f.stat().st_mtime_ns) for f in folder.iterdir()}


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux can exchange two names at once")
def test_a_folder_swapped_for_a_link_never_leads_outside(tmp_path: Path) -> None:
    workspace, outside = Workspace(tmp_path / "workspace"), tmp_path / "outside"
    workspace.prepare()

    def editor(path: str, *, writes: bool = True) -> Editor:
        return Editor(workspace, path, 10_000, writes=writes)

    openings: dict[str, Callable[[], object]] = {
        "folder": lambda: editor("d", writes=False).view(None),
        "view": lambda: editor("d/f", writes=False).view(None),
        "create": lambda: editor("d/f").create("a\n"),
        "create in a new folder": lambda: editor("d/new/f").create("x"),
        "str_replace": lambda: editor("d/f").replace("a", "a b"),
        "undo_edit": lambda: editor("d/f").undo(),
        "chart": lambda: read_table(workspace.readable("d/t.csv"), "d/t.csv", None).columns,
        "upload": lambda: _build_payload(workspace, "d/t.csv"),
    }
    results: dict[str, set[bool]] = {name: set() for name in openings}
    with swapped(workspace.root, outside) as swapper:
        before = _state(outside)
        for name, opening in [*openings.items()] * ROUNDS:
            try:
                assert "SECRET" not in str(opening()), name
                results[name].add(True)
            except (ToolError, OSError):
                results[name].add(False)
        assert swapper.poll() is None, "it was swapped until the end"
    assert _state(outside) == before
    assert all(len(both) == 2 for both in results.values()), results
