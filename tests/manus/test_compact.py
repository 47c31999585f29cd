"""Checkpoints in less room, and every form of it that was ever written can be read."""

from __future__ import annotations

import random
import zlib
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from manus.compact import CompactSerializer
from manus.recurring import FIRST, SECOND
from manus.state.errors import StorageError

USAGE = {"input_tokens": 100, "output_tokens": 20, "cached_tokens": 0, "model_calls": 1}


@pytest.mark.parametrize(
    "value",
    [None, "", {"step": 1}, {**USAGE, "roles": {"main": USAGE}}, "中文" * 500, AIMessage("Hello.")],
)
def test_what_is_written_is_read(value: Any) -> None:
    written = CompactSerializer().dumps_typed(value)
    assert CompactSerializer().loads_typed(written) == value


@pytest.mark.parametrize(("name", "dictionary"), [("zlib", FIRST), ("zlib2", SECOND)])
def test_every_form_is_read(name: str, dictionary: bytes) -> None:
    kind, data = JsonPlusSerializer().dumps_typed(USAGE)
    packer = zlib.compressobj(zdict=dictionary)
    packed = packer.compress(data) + packer.flush()
    assert CompactSerializer().loads_typed((f"{kind}+{name}", packed)) == USAGE
    assert CompactSerializer().loads_typed((kind, data)) == USAGE


@pytest.mark.parametrize("kind", ["msgpack", "msgpack+zlib2", "msgpack+zlib9", "nothing"])
@pytest.mark.parametrize("data", [b"", b"\xc1\xc1"], ids=["nothing", "junk"])
def test_what_cannot_be_read_is_a_sentence(kind: str, data: bytes) -> None:
    with pytest.raises(StorageError, match=r"cannot be read \(.*\): it is damaged, or a later"):
        CompactSerializer().loads_typed((kind, data))


def test_the_dictionaries_are_part_of_the_format() -> None:
    """A file written with one cannot be read with another: a change needs a new name."""
    assert (zlib.crc32(FIRST), zlib.crc32(SECOND)) == (699751087, 3726854314)


def test_what_recurs_takes_little_room() -> None:
    value = {**USAGE, "roles": {"main": USAGE}}
    plain = JsonPlusSerializer().dumps_typed(value)[1]
    assert len(CompactSerializer().dumps_typed(value)[1]) < len(plain) / 2


@pytest.mark.parametrize("length", [*range(40, 56), 4_096, *range(10_590, 10_600), 16_384, 300_000])
def test_every_length_is_read_as_it_was_written(length: int) -> None:
    written = random.Random(length).randbytes(length)
    for value in (written, written[: length // 2] * 2, b"messages" * (length // 8)):
        packed = CompactSerializer().dumps_typed(value)
        assert CompactSerializer().loads_typed(packed) == value


def test_many_threads_at_once_pack_the_same() -> None:
    values = [{**USAGE, "step": step, "text": "words " * step} for step in range(200)]
    serializer = CompactSerializer()
    alone = [serializer.dumps_typed(value) for value in values]
    with ThreadPoolExecutor(8) as pool:
        for _ in range(5):
            assert list(pool.map(serializer.dumps_typed, values)) == alone
