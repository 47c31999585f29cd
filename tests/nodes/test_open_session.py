"""What a run takes over from the one before it on its thread."""

from pathlib import Path

from manus.calls.session import Session
from manus.nodes.open_session import is_reusable
from manus.threads.journal import Claim, Journal
from manus.threads.records.files import FileLog
from manus.workspace.workspace import Workspace


def test_a_session_is_not_reused_after_another_process_has_continued_the_thread(
    session: Session, tmp_path: Path
) -> None:
    path = tmp_path / "journal" / "t.jsonl"
    session.journal = Journal(FileLog(path))
    session.journal.open()
    assert is_reusable(session, session.workspace)
    assert not is_reusable(session, Workspace(tmp_path / "elsewhere"))
    other = Journal(FileLog(path))
    other.open()
    other.begin("a", Claim("bash"))
    other.close()
    assert not is_reusable(session, session.workspace), "its shell and journal are out of date"
    session.journal.close()
