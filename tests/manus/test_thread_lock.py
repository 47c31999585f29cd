import fcntl
import os
from pathlib import Path

import pytest

from manus.state.errors import ThreadBusyError
from manus.thread_lock import hold_file


async def test_a_thread_is_held_once_by_a_file_of_its_own(tmp_path: Path) -> None:
    thread = "a/b/../c" + "x" * 190
    for _ in range(2):
        async with hold_file(tmp_path, thread), hold_file(tmp_path, thread + "_"):
            assert len(list(tmp_path.iterdir())) == 2
            with pytest.raises(ThreadBusyError, match=f"process {os.getpid()}"):
                async with hold_file(tmp_path, thread):
                    pass
        assert list(tmp_path.iterdir()) == []


async def test_who_lets_go_in_a_moment_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with hold_file(tmp_path, "t"):
        [path] = tmp_path.iterdir()
    held = os.open(path, os.O_RDWR | os.O_CREAT)
    fcntl.flock(held, fcntl.LOCK_EX)
    monkeypatch.setattr("time.sleep", lambda _: fcntl.flock(held, fcntl.LOCK_UN))
    async with hold_file(tmp_path, "t"):
        assert path.exists()
    os.close(held)


async def test_a_file_that_its_last_holder_removes_meanwhile_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock, removed = fcntl.flock, list[Path]()

    def flock(handle: int, operation: int) -> None:
        if not removed:
            removed.extend(tmp_path.iterdir())
            removed[0].unlink()
        lock(handle, operation)

    monkeypatch.setattr(fcntl, "flock", flock)
    async with hold_file(tmp_path, "t"):
        assert list(tmp_path.iterdir()) == removed
