"""How bytes are decoded: by marks, NUL bytes, declarations, statistics, neighbours, the locale."""

import codecs
import locale

import pytest

from manus.workspace.text_encoding import decode

RUSSIAN = "# Привет, это программа: она складывает числа\n"
JAPANESE = "# これは足し算のプログラムです\n"
DECODED = [
    # the text, its encoding, a byte order mark, the encoding that is found (default the same)
    ("a\n", "ascii", b"", "utf-8"),
    ("é→\n", "utf-8", b"", None),
    ("é\r\n", "utf-8", codecs.BOM_UTF8, None),
    ("é→\n", "utf-16-le", codecs.BOM_UTF16_LE, None),
    ("é→\n", "utf-32-le", codecs.BOM_UTF32_LE, None),
    ("name;value\na;1\n", "utf-16-le", b"", None),
    ("<a>é</a>\r\n", "utf-16-be", b"", None),
    (f"total = first + second\n{JAPANESE}", "utf-16-le", b"", None),
    (f"# -*- coding: cp1251 -*-\n{RUSSIAN}", "cp1251", b"", None),
    ("#!/usr/bin/python\n# coding=koi8-r\nx = 1\n", "koi8-r", b"", None),
    ('<?xml version="1.0" encoding="iso-8859-2"?>\n<a>ł</a>\n', "iso-8859-2", b"", None),
    ("open(f, encoding='gbk')\nx\ny = 'é'\n", "utf-8", b"", None),
    ("# coding: no-such-encoding\né\n", "utf-8", b"", None),
    (RUSSIAN * 9, "cp1251", b"", None),
    (JAPANESE * 12, "shift_jis", b"", None),
    (JAPANESE * 12, "euc_jp", b"", None),
    ("# 计算两个数字的总和并返回结果\n" * 12, "gbk", b"", None),
    ("# 計算兩個數字的總和並返回結果\n" * 12, "big5", b"", None),
    ("# 두 숫자의 합계를 계산하여 결과를 반환합니다\n" * 12, "euc_kr", b"", None),
]


@pytest.mark.parametrize(("text", "encoding", "mark", "result"), DECODED)
def test_a_text_is_decoded(text: str, encoding: str, mark: bytes, result: str | None) -> None:
    data = mark + text.encode(encoding)
    file = decode(data)
    assert file is not None
    assert file.text == text.replace("\r\n", "\n")
    assert (file.encoding, file.mark) == (result or encoding, mark)
    assert file.encoded(file.text) == data


BINARY = [b"\x01\0\x02\0", b"\x7fELF\x02\x01\x01\0\0\0", b"ab\0c", b"\0", b"foo\0bar\0"]


@pytest.mark.parametrize("data", BINARY)
def test_bytes_of_a_program_are_no_text(data: bytes) -> None:
    assert decode(data) is None


SHORT = "def f(a):\n    return a  # 求和\n".encode("gbk")


def test_what_decides_if_several_encodings_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    chinese = ("# 计算两个数字的总和并返回结果\n" * 12).encode("gbk")
    korean = ("# 두 숫자의 합계를 계산하여 결과를 반환합니다\n" * 12).encode("euc_kr")
    results = {
        "its bytes alone": decode(SHORT),
        "a neighbour": decode(SHORT, lambda: [b"plain\n", chinese, SHORT]),
        "neighbours that differ": decode(SHORT, lambda: [chinese, korean]),
    }
    monkeypatch.setattr(locale, "getencoding", lambda: "GBK")
    results["the locale"] = decode(SHORT)
    certain = {name: len(file.fitting) == 1 for name, file in results.items() if file}
    assert certain == {
        "its bytes alone": False,
        "a neighbour": True,
        "neighbours that differ": False,
        "the locale": True,
    }
    for name in ("a neighbour", "the locale"):
        file = results[name]
        assert file
        assert "求和" in file.text


NEW_TEXTS = [("return b", False), ("# 返回结果", True), ("一 café", True)]


@pytest.mark.parametrize(("new", "is_ambiguous"), NEW_TEXTS)
def test_only_a_text_that_the_encodings_write_differently_is_ambiguous(
    new: str, is_ambiguous: bool
) -> None:
    file = decode("# 求和\n".encode("gbk"))
    assert file
    assert len(file.fitting) > 1
    assert file.is_ambiguous(f"{file.text}{file.text}{new}\n") is is_ambiguous
