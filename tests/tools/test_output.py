"""What a process prints, as it is kept."""

import asyncio
import contextlib
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from manus.tools.shell.output import HEAD, TAIL, Capture, PipeReader


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


async def test_what_was_written_before_take_is_all_there_and_later_writes_are_not_held_up() -> None:
    reading, writing = os.pipe()
    reader = PipeReader(reading)
    os.write(writing, b"before")
    assert reader.take().text() == "before"
    os.set_blocking(writing, False)
    left = 1_000_000  # far more than a pipe holds: it only goes through if somebody reads
    async with asyncio.timeout(30):
        while left > 0:
            with contextlib.suppress(BlockingIOError):
                left -= os.write(writing, b"x" * left)
            await asyncio.sleep(0)
    assert not reader.closed
    os.close(writing)
    await reader.wait_until_closed(30)
    assert reader.closed


async def test_of_a_flood_the_middle_is_dropped_and_others_get_their_turn() -> None:
    reading, writing = os.pipe()
    reader = PipeReader(reading)
    flood = asyncio.ensure_future(asyncio.to_thread(write_until_broken, writing, HEAD + 4 * TAIL))
    while not flood.done():
        await asyncio.sleep(0)  # ends only if other tasks get their turn
    await reader.wait_until_closed(30)
    capture = reader.take()
    assert capture.dropped == 3 * TAIL


def write_until_broken(descriptor: int, size: int) -> None:
    try:
        while size > 0:
            size -= os.write(descriptor, b"y" * min(size, 2**16))
    finally:
        os.close(descriptor)


async def test_close_is_final_and_may_be_repeated() -> None:
    reading, writing = os.pipe()
    reader = PipeReader(reading)
    reader.close()
    reader.close()
    assert reader.take().text() == ""
    with pytest.raises(BrokenPipeError):
        os.write(writing, b"x")
    os.close(writing)
