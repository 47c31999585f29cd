"""A lock between test runs has a time limit, and is released whatever happens."""

from pathlib import Path

import pytest

from tests.helpers.locks import lock_folder


def test_a_lock_has_a_time_limit_and_is_released(tmp_path: Path) -> None:
    with (
        lock_folder(tmp_path, "this test"),
        pytest.raises(TimeoutError, match=r"Waited 0 s for .*, which is locked by this test"),
        lock_folder(tmp_path, "this test", limit=0),
    ):
        pytest.fail("it was locked twice")
    with pytest.raises(KeyError), lock_folder(tmp_path, "nobody", limit=0):
        raise KeyError
    with lock_folder(tmp_path, "nobody", limit=0):
        assert tmp_path.is_dir()
