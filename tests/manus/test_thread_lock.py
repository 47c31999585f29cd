from pathlib import Path

import pytest

from manus.state.errors import StorageError
from manus.thread_lock import hold_file


@pytest.mark.parametrize("thread", ["a/b/../c", "x" * 190])
async def test_any_id_is_a_file_of_its_own_in_the_folder(tmp_path: Path, thread: str) -> None:
    async with hold_file(tmp_path, thread), hold_file(tmp_path, thread + "_"):
        assert len(list(tmp_path.iterdir())) == 2
    assert list(tmp_path.iterdir()) == []


async def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="cannot be locked"):
        async with hold_file(tmp_path / "file", "t"):
            pass
