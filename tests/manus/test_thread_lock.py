import subprocess
import sys
from pathlib import Path

import pytest

from manus.state.errors import StorageError, ThreadBusyError
from manus.thread_lock import hold_file
from tests.manus.nursery import ROOT

HOLD = """
import asyncio, sys
from pathlib import Path
from manus.thread_lock import hold_file
async def main():
    async with hold_file(Path(sys.argv[1]), sys.argv[2]):
        print("held", flush=True)
        sys.stdin.read()
asyncio.run(main())
"""


def _holder(folder: Path, thread: str) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(folder), thread],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


async def test_a_second_process_is_told_who_holds_the_thread(tmp_path: Path) -> None:
    with _holder(tmp_path, "t") as holder:
        told = pytest.raises(ThreadBusyError, match=rf"thread t .* \(pid {holder.pid}\)")
        with told:
            async with hold_file(tmp_path, "t"):
                pass
        async with hold_file(tmp_path, "another"):
            pass
        holder.communicate()
    async with hold_file(tmp_path, "t"):
        pass


async def test_the_lock_goes_with_the_process(tmp_path: Path) -> None:
    with _holder(tmp_path, "t") as holder:
        holder.kill()
        holder.communicate()
    async with hold_file(tmp_path, "t"):
        assert len(list(tmp_path.iterdir())) == 1
    assert list(tmp_path.iterdir()) == []


async def test_two_in_one_process(tmp_path: Path) -> None:
    async with hold_file(tmp_path, "t"):
        with pytest.raises(ThreadBusyError, match="another run of this process"):
            async with hold_file(tmp_path, "t"):
                pass


@pytest.mark.parametrize("thread", ["a/b/../c", "x" * 190])
async def test_any_id_is_a_file_of_its_own_in_the_folder(tmp_path: Path, thread: str) -> None:
    async with hold_file(tmp_path, thread), hold_file(tmp_path, thread + "_"):
        assert len(list(tmp_path.iterdir())) == 2


async def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="cannot be locked"):
        async with hold_file(tmp_path / "file", "t"):
            pass
