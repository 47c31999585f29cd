"""Programs that a tool starts: their environment, how they are ended, and what they print."""

from hypothesis import given
from hypothesis import strategies as st

from manus.tools.session import Session
from manus.tools.shell.output import HEAD, TAIL, Capture
from manus.tools.shell.process import run, scrubbed
from tests.helpers.processes import lives


def test_only_what_a_program_needs_passes() -> None:
    outside = {
        "PATH": "/bin",
        "HOME": "/home/a",
        "LC_TIME": "C",
        "https_proxy": "http://proxy:1",
        "SSL_CERT_FILE": "/ca",
        "OPENAI_API_KEY": "secret",
        "MANUS_MODEL": "secret",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "BASH_ENV": "secret",
        "PYTHONPATH": "secret",
    }
    assert scrubbed(outside) == {k: v for k, v in outside.items() if v != "secret"}
    assert "/usr/bin" in scrubbed({})["PATH"].split(":")


async def test_a_program_may_clean_up_before_it_is_killed_with_the_deaf(session: Session) -> None:
    code = (
        "(trap '' TERM; sleep 600; :) & echo $! > pids; setsid sleep 600 & echo $! >> pids; "
        "trap 'echo cleaned; exit' TERM; while :; do sleep 0.05; done"
    )
    finished = await run(["bash", "-c", code], workspace=session.workspace, seconds=1)
    assert finished.returncode is None
    assert finished.output.endswith("cleaned\n")
    pids = (session.workspace.root / "pids").read_text().split()
    assert [lives(pid) for pid in pids] == [False, False]


def captured(*pieces: bytes, head: int = HEAD, tail: int = TAIL) -> Capture:
    capture = Capture(head, tail)
    for piece in pieces:
        capture.add(piece)
    return capture


@given(st.lists(st.binary(max_size=60), max_size=30), st.integers(0, 40), st.integers(1, 40))
def test_how_a_stream_is_cut_does_not_matter(pieces: list[bytes], head: int, tail: int) -> None:
    whole = b"".join(pieces)
    piecewise = captured(*pieces, head=head, tail=tail)
    at_once = captured(whole, head=head, tail=tail)
    assert piecewise.text() == at_once.text()
    assert piecewise.dropped == at_once.dropped == max(0, len(whole) - head - tail)


SHOWN = {
    b"a\xff\x00b\x1bc\x7f": "a\ufffd\ufffdb\ufffdc\ufffd",
    b"tab\tcr\r\n": "tab\tcr\n",
    b"\x1b[1;31mred\x1b[0m \x1b]0;title\x07end": "red end",
    b"\r 10%|#  |\r 50%|## |\r100%|###|\ndone\r\n": "100%|###|\ndone\n",
}


def test_bytes_are_shown_as_on_a_terminal_with_head_and_tail() -> None:
    assert {data: captured(data).text() for data in SHOWN} == SHOWN
    text = captured(b"0123456789" * 10, head=4, tail=3).text()
    assert text == "0123\n[… 93 bytes left out …]\n789"
    text = captured("é".encode() * 10, head=2, tail=3).text()
    assert text == "é\n[… 15 bytes left out …]\né", "no half of a character"
