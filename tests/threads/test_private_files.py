"""Only the user can read the program's own files."""

import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from manus.config.files import state_folder
from manus.threads.sqlite import open_sqlite
from manus.workspace.safe_open import open_record
from manus.workspace.workspace import Workspace
from tests.helpers.agent import TESTER, ScriptedAgent
from tests.server import ScriptedServer, call, calls, text


@pytest.fixture(autouse=True)
def everybody_may_read() -> Iterator[None]:
    """Set the umask that most machines have."""
    before = os.umask(0o022)
    yield
    os.umask(before)


def open_to_others(folder: Path) -> list[str]:
    """Return a folder and its contents as far as users other than the owner can access them."""
    paths = [folder, *folder.rglob("*")]
    return [str(path) for path in paths if stat.S_IMODE(path.lstat().st_mode) & 0o077]


async def test_a_runs_records_are_private(
    server: ScriptedServer, tmp_path: Path, subtests: pytest.Subtests
) -> None:
    profile = replace(TESTER, tools=("bash", "python_execute", "str_replace_editor"))
    async with open_sqlite(tmp_path / "data" / "threads.sqlite") as store:
        agent = ScriptedAgent(server, tmp_path / "w", store.saver, profile)
        arguments = {"command": "create", "path": "a.txt", "file_text": "a\n"}
        changed = {"command": "str_replace", "path": "a.txt", "old_str": "a", "new_str": "b"}
        await agent.run(
            calls(call("bash", command="seq 1 9999"), call("python_execute", code="print(1)")),
            call("str_replace_editor", **arguments),
            call("str_replace_editor", **changed),
            text("Done."),
            record=str(tmp_path / "turns.jsonl"),
        )
        beside = {path.name for path in (tmp_path / "data").iterdir()}
        made_here = ("", "-wal", "-shm", ".journal")
        assert {f"threads.sqlite{suffix}" for suffix in made_here} <= beside
        assert open_to_others(tmp_path / "data") == []
    workspace = Workspace(tmp_path / "w")
    assert {"python", "observations"} <= {path.name for path in workspace.private.iterdir()}
    assert {"undo"} <= {path.name for path in workspace.records.iterdir()}
    for own in (workspace.private, state_folder(), tmp_path / "turns.jsonl"):
        with subtests.test(own=own):
            assert open_to_others(own) == []
    assert open_to_others(tmp_path / "w" / "a.txt"), "the user's files follow the umask"


def test_a_record_is_readable_only_by_its_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t.jsonl"
    path.touch(0o644)
    open_record(path).close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    monkeypatch.setattr(os, "geteuid", lambda: path.stat().st_uid + 1)
    with pytest.raises(PermissionError, match="another owner"):
        open_record(path)


@pytest.mark.skipif(sys.platform != "linux", reason="prctl is Linux's")
def test_the_command_hides_its_memory() -> None:
    code = (
        "import ctypes; from manus.cli.entry import main\n"
        "is_dumpable = lambda: ctypes.CDLL(None).prctl(3, 0, 0, 0, 0)\n"
        "before = is_dumpable(); main(['graph']); print(); print(before, is_dumpable())"
    )
    process = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert process.stdout.splitlines()[-1] == "1 0"
