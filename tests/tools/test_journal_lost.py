"""The journal's file is removed and written anew while calls begin and end."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from manus.tools.journal import Journal

CALLS = [f"call {number}" for number in range(190)]


@pytest.fixture
def hurried() -> Iterator[None]:
    """Threads take turns after almost each instruction."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("hurried")
def test_the_new_file_holds_the_last_word_on_each_call(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    journal, again = Journal(path), Journal(path)
    journal.open()
    removed, ended = threading.Event(), threading.Event()

    def remove() -> None:
        while not ended.is_set():
            with contextlib.suppress(FileNotFoundError):
                path.unlink()
            removed.set()
            journal.restore()

    remover = threading.Thread(target=remove)
    remover.start()
    try:
        removed.wait()
        for call in CALLS:
            journal.begin(call, "bash")
            journal.spend(call, {"input_tokens": 3})
            journal.finish(call, {"content": call})
    finally:
        ended.set()
        remover.join()
    journal.close()
    again.open()
    again.close()
    for call in CALLS:
        assert again.look_up(call) == journal.look_up(call)
        assert again.spent(call) == journal.spent(call) == [{"input_tokens": 3}]
