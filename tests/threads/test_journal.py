"""Started calls and their results survive the death of the process."""

import os
import resource
import stat
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from manus.state.errors import StorageError
from manus.threads.journal import Claim, Journal, JournalEntry
from manus.threads.records.files import FileLog, key_file, load_key, workspace_log
from manus.threads.records.seal import Seal

BEGUN = JournalEntry("begun", None, claim=Claim("bash"))
MESSAGE = {
    "content": "a\u2028b\x85c\nd\\n\x00\ud800 😀",
    "tool_call_id": "c1",
    "name": "bash",
    "status": "success",
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal" / "t.jsonl"


@pytest.fixture
def journal(path: Path) -> Iterator[Journal]:
    journal = _open_journal(path)
    yield journal
    journal.close()


def _open_journal(path: Path) -> Journal:
    journal = Journal(FileLog(path))
    journal.open()
    return journal


def _read_again(path: Path, key: str) -> JournalEntry | None:
    journal = _open_journal(path)
    journal.close()
    return journal.look_up(key)


def test_a_result_survives_and_a_released_claim_is_forgotten(journal: Journal, path: Path) -> None:
    journal.begin("k", Claim("bash"))
    journal.finish("k", MESSAGE, {"plan": {"steps": [1]}})
    expected = JournalEntry("done", MESSAGE, {"plan": {"steps": [1]}})
    assert journal.look_up("k") == expected
    assert _read_again(path, "k") == expected
    journal.begin("l", Claim("bash"))
    journal.release("l")
    journal.release("never begun")
    assert journal.look_up("l") is None
    assert _read_again(path, "l") is None


def test_truncation_and_damage_are_detected(
    journal: Journal, path: Path, subtests: pytest.Subtests
) -> None:
    journal.begin("k", Claim("bash"))
    journal.finish("k", MESSAGE)
    data = path.read_bytes()
    ends = [place + 1 for place, byte in enumerate(data) if byte == 10]
    cuts = {*range(0, len(data), 7), *(end - 1 for end in ends)} - set(ends)
    for content in (*(data[:cut] for cut in cuts), *(data[end:] for end in ends), data):
        with subtests.test(content=content):
            path.write_bytes(content)
            reopened = _open_journal(path)
            reopened.close()
            assert reopened.is_whole is (content is data)


@pytest.mark.parametrize("junk", [b"\0" * 100, b"\xff\xfe{", b'{"key": "k"}\n'])
def test_junk_hides_nothing_else(journal: Journal, path: Path, junk: bytes) -> None:
    journal.begin("before", Claim("bash"))
    with path.open("ab") as file:
        file.write(junk)
    going_on = _open_journal(path)
    assert not going_on.is_whole
    going_on.begin("after", Claim("bash"))
    going_on.close()
    assert _read_again(path, "before") == BEGUN
    assert _read_again(path, "after") == BEGUN


def test_a_long_trail_is_compacted_to_its_newest_calls(journal: Journal, path: Path) -> None:
    journal.begin("slow", Claim("bash"))
    for number in range(450):
        journal.begin(f"k{number}", Claim("bash"))
        journal.finish(f"k{number}", MESSAGE)
    assert journal.look_up("slow") == BEGUN
    before = path.stat().st_size
    assert _read_again(path, "slow") == BEGUN
    assert path.stat().st_size < before
    assert _read_again(path, "k449") == JournalEntry("done", MESSAGE)
    assert _read_again(path, "k1") is None
    assert journal.look_up("k1") is None, "memory use is bounded, too"


def test_a_file_planted_in_place_of_a_journal_is_not_written_to(
    tmp_path: Path, subtests: pytest.Subtests
) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="cannot be written"):
        _open_journal(tmp_path / "file" / "t.jsonl")
    with pytest.raises(StorageError, match="Is a directory"):
        _open_journal(tmp_path)
    outside, journal = tmp_path / "outside", tmp_path / "journal"
    outside.mkdir()
    (outside / "startup").write_text("alias a=b\n")
    journal.mkdir()
    (journal / "link.jsonl").symlink_to(outside / "startup")
    os.mkfifo(journal / "pipe.jsonl")
    (tmp_path / "linked").symlink_to(outside)
    for place in (journal / "link.jsonl", journal / "pipe.jsonl", tmp_path / "linked/t.jsonl"):
        with subtests.test(place=place), pytest.raises(StorageError):
            _open_journal(place)
    assert [path.read_text() for path in outside.iterdir()] == ["alias a=b\n"]


def test_a_claim_on_a_full_disk_is_not_a_claim(journal: Journal, path: Path) -> None:
    journal.begin("before", Claim("bash"))
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 10, limit[1]))
    try:
        for _ in range(2):  # part of the line fits, then the disk is full
            with pytest.raises(StorageError, match="free space"):
                journal.begin("k", Claim("bash"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    assert journal.look_up("k") is None
    journal.begin("after", Claim("bash"))
    assert _read_again(path, "k") is None
    assert _read_again(path, "before") == BEGUN
    assert _read_again(path, "after") == BEGUN


def test_every_thread_has_its_own_file_in_the_private_folder(
    tmp_path: Path, subtests: pytest.Subtests
) -> None:
    for thread in ("../../etc", "", "ü" * 300, "\ud800"):
        with subtests.test(thread=thread):
            path = workspace_log(tmp_path, thread).path
            assert path.parent == tmp_path / "journal"
            assert path != workspace_log(tmp_path, thread + "/").path
            _open_journal(path).close()


def test_it_detects_writes_of_another_process(path: Path, journal: Journal) -> None:
    assert journal.is_current()
    before = path.read_bytes()
    other = _open_journal(path)
    other.begin("a", Claim("bash"))
    other.close()
    assert not journal.is_current()
    path.write_bytes(before)
    assert journal.is_current()
    path.with_suffix(".new").write_bytes(before)
    path.with_suffix(".new").replace(path)
    assert not journal.is_current()
    path.unlink()
    assert not journal.is_current()


def test_a_line_with_a_wrong_signature_is_damage(
    journal: Journal, path: Path, subtests: pytest.Subtests
) -> None:
    journal.begin("k", Claim("bash"))
    other = _open_journal(path.with_name("other.jsonl"))
    other.finish("k", MESSAGE)
    other.close()
    content = path.read_bytes()
    for line in (
        Seal(b"guess", path.stem).seal({"key": "k", "state": "released"}),
        content.splitlines()[-1].replace(b"begun", b"released") + b"\n",
        path.with_name("other.jsonl").read_bytes().splitlines()[-1] + b"\n",
    ):
        with subtests.test(line=line):
            path.write_bytes(content + line)
            again = _open_journal(path)
            again.close()
            assert not again.is_whole
            assert again.look_up("k") == BEGUN


def test_the_key_is_created_once_and_private() -> None:
    with ThreadPoolExecutor() as pool:
        keys = set(pool.map(lambda _: load_key(), range(32)))
    assert [len(key) for key in keys] == [32]
    assert stat.S_IMODE(key_file().stat().st_mode) == 0o600


def test_the_newest_call_is_known_until_a_fork(journal: Journal, path: Path) -> None:
    for key in ("a", "b"):
        journal.finish(key, MESSAGE)
    journal.begin("c", Claim("bash"))
    assert journal.newest == "b"
    journal.fork()
    for _ in range(450):
        journal.release("never begun")
    _open_journal(path).close()  # which compacts it
    again = _open_journal(path)
    again.close()
    assert {log.newest for log in (journal, again)} == {None}
    assert again.look_up("b") == JournalEntry("done", MESSAGE)


async def test_calls_that_have_ended_are_listed_and_stored_without_blocking(
    journal: Journal, path: Path
) -> None:
    await journal.abegin("k", Claim("bash"))
    await journal.afinish("k", MESSAGE)
    await journal.abegin("open", Claim("bash"))
    assert [
        (call.id, call.tool_call_id)
        for call in map(journal.find_result, journal.list_ended())
        if call
    ] == [("k", "c1")]
    assert _read_again(path, "open") == BEGUN
    stored = _read_again(path, "k")
    assert stored is not None
    assert stored.message == MESSAGE
