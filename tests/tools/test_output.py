"""What a process prints, as it is kept."""

from hypothesis import given
from hypothesis import strategies as st

from manus.tools.shell.output import HEAD, TAIL, Capture


def captured(*pieces: bytes, head: int = HEAD, tail: int = TAIL) -> Capture:
    capture = Capture(head, tail)
    for piece in pieces:
        capture.add(piece)
    return capture


@given(st.lists(st.binary(max_size=60), max_size=30), st.integers(0, 40), st.integers(1, 40))
def test_how_a_stream_is_cut_into_pieces_makes_no_difference(
    pieces: list[bytes], head: int, tail: int
) -> None:
    whole = b"".join(pieces)
    piecewise = captured(*pieces, head=head, tail=tail)
    at_once = captured(whole, head=head, tail=tail)
    assert piecewise.text() == at_once.text()
    assert piecewise.dropped == at_once.dropped == max(0, len(whole) - head - tail)


def test_head_and_tail_are_kept_and_the_rest_is_counted() -> None:
    text = captured(b"0123456789" * 10, head=4, tail=3).text()
    assert text == "0123\n[… 93 bytes left out …]\n789"
    text = captured("é".encode() * 10, head=2, tail=3).text()
    assert text == "é\n[… 15 bytes left out …]\né", "no half of a character"


SHOWN = {
    b"a\xff\x00b\x1bc\x7f": "a\ufffd\ufffdb\ufffdc\ufffd",
    b"tab\tcr\r\n": "tab\tcr\n",
    b"\x1b[1;31mred\x1b[0m \x1b]0;title\x07end": "red end",
    b"\r 10%|#  |\r 50%|## |\r100%|###|\ndone\r\n": "100%|###|\ndone\n",
}


def test_bytes_as_a_terminal_shows_them() -> None:
    assert {data: captured(data).text() for data in SHOWN} == SHOWN
