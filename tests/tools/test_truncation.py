"""An observation too long for the model."""

import re
from pathlib import Path

import pytest

from manus.tools.bash import Bash
from manus.tools.session import Session
from manus.tools.truncation import truncate
from manus.tools.workspace import Workspace
from tests.helpers.acting import execute_alone


def _file_named_in(text: str, workspace: Workspace) -> Path:
    found = re.search(r"all [\d,]+ are in (\S+) …\]", text)
    assert found is not None
    return workspace.root / found[1]


@pytest.mark.parametrize("limit", [200, 1000, 9_999])
def test_what_does_not_fit_keeps_its_ends_and_is_in_a_file(session: Session, limit: int) -> None:
    workspace = session.workspace
    text = "".join(f"line {number}\n" for number in range(10_000))
    cut = truncate(text, limit, workspace)
    assert limit - 300 <= len(cut) <= limit
    head, note, tail = re.split(r"\n(\[… .* …\])\n", cut)
    assert truncate(text[:limit], limit, workspace) == text[:limit], "what fits stays as it is"
    assert text.startswith(head)
    assert text.endswith(tail)
    assert f"{len(text) - len(head) - len(tail):,} of {len(text):,} characters left out" in note
    assert _file_named_in(cut, workspace).read_text() == text
    assert truncate(text, limit, workspace) == cut
    other = truncate("b\n" * 5_000, limit, workspace)
    assert _file_named_in(other, workspace).read_text() == "b\n" * 5_000
    assert len(list((workspace.private / "observations").iterdir())) == 2


async def test_of_a_command_most_of_what_is_shown_is_its_end(session: Session) -> None:
    """As of a test run: passed tests fill the beginning, and the sum stands at the end."""
    command = {"command": "for i in $(seq 2000); do echo line $i; done; (exit 3)"}
    message = (await execute_alone(session, Bash(session=session), command, limit=1_000)).message
    beginning, _, end = message.text.partition(" …]\n")
    assert end.endswith("line 2000\n[exit code 3]")
    assert len(end) > len(beginning)
