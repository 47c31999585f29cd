"""Nothing that a model, a tool or a page said becomes HTML."""

from __future__ import annotations

import re

import pytest

from manus.run_report.clock import Clock
from manus.run_report.markup import Html, block, join, tag, text
from manus.run_report.page import asset
from manus.run_report.prose import prose
from manus.run_report.words import offset, short, size, span

EVIL = '<script>alert(1)</script><b onclick="x">&amp;'


def test_texts_are_escaped() -> None:
    said = tag("p", EVIL, title=EVIL, class_="a", data_x=1, hidden=True, id=None, lang=False)
    assert said == (
        '<p title="&lt;script&gt;alert(1)&lt;/script&gt;&lt;b onclick=&quot;x&quot;&gt;&amp;amp;"'
        ' class="a" data-x="1" hidden>'
        "&lt;script&gt;alert(1)&lt;/script&gt;&lt;b onclick=&quot;x&quot;&gt;&amp;amp;</p>"
    )
    assert tag("p", tag("b", "x"), None, "<") == "<p><b>x</b>&lt;</p>"
    assert join(["<", Html("<br>")], ", ") == "&lt;, <br>"
    assert tag("meta", name="x") == '<meta name="x">'
    assert tag("path", d="M0") == '<path d="M0"/>'


def test_signs_that_nobody_sees_are_left_out() -> None:
    assert text("a\x1b[31mred\x1b[0m\u202egnp\x00\ud800") == "aredgnp\ufffd"


def test_a_block_tells_what_is_in_it() -> None:
    first, again, other = (block("div", "k", said) for said in ("a", "a", "b"))
    assert first == again != other
    assert first.startswith('<div id="k" data-v="')


@pytest.mark.parametrize(
    "given",
    [
        EVIL,
        "[x](javascript:alert(1))",
        "[x](JaVaScRiPt:alert(1))",
        "[x](data:text/html;base64,PHNjcmlwdD4=)",
        "<javascript:alert(1)>",
        "[x]: javascript:alert(1)\n\n[x]",
        "![x](javascript:alert(1))",
        '![x](https://example.org/a.png "onerror=alert(1)")',
        "![x](data:image/svg+xml;base64,PHN2Zz4=)",
        "```<script>\nalert(1)</script>\n```",
        "<iframe src=https://example.org></iframe>",
        '<img src=x onerror="alert(1)">',
    ],
)
def test_markdown_of_a_model_runs_nothing_and_fetches_nothing(given: str) -> None:
    said = prose(given)
    assert not re.search(r"<(script|img|iframe|object|b )", said)
    assert not re.search(r'(href|src)="(?!https?:|mailto:)', said)
    assert not re.search(r"<[^>]*\son\w+=", said.replace("&quot;", ""))


def test_markdown() -> None:
    said = prose(
        "# Title\n\n**bold** `code` [x](https://example.org)\n\n| a | b |\n|-|-|\n| 1 | 2 |"
    )
    for part in (
        "<h3>Title</h3>",
        "<strong>bold</strong>",
        "<code>code</code>",
        '<a href="https://example.org" rel="noopener noreferrer">x</a>',
        "<td>1</td>",
    ):
        assert part in said


def test_a_text_too_long_for_markdown() -> None:
    said = prose("**x** " * 50_000)
    assert "<strong>" not in said
    assert said.count("**x**") == 50_000


def test_the_pages_own_code_can_stand_in_it() -> None:
    assert "</script" not in asset("page.js").lower()
    assert "</style" not in asset("page.css").lower()
    for address in ("http:", "https:", "@import", "url("):
        assert address not in asset("page.css")


def test_figures_in_words() -> None:
    assert [span(s) for s in (0.0123, 0.42, 9.96, 61, 3_700, 90_000)] == [
        "12 ms",
        "0.4 s",
        "10 s",
        "1 min 01 s",
        "1 h 01 min",
        "1 d 1 h",
    ]
    assert [offset(s) for s in (7.9, 760, 3723)] == ["0:07", "12:40", "1:02:03"]
    assert [short(n) for n in (950, 12_400, 1_240_000)] == ["950", "12.4k", "1.2M"]
    assert [size(n) for n in (1, 812, 4_200, 1_300_000)] == [
        "1 byte",
        "812 bytes",
        "4.2 kB",
        "1.3 MB",
    ]


def test_the_clock_stands_still_in_a_pause() -> None:
    from datetime import UTC, datetime, timedelta

    begin = datetime(2026, 1, 1, tzinfo=UTC)

    def at(seconds: float) -> datetime:
        return begin + timedelta(seconds=seconds)

    clock = Clock(begin, at(3_620), [(at(10), at(3_610))])
    assert clock.length == 20
    assert [clock.seconds(at(s)) for s in (5, 10, 2_000, 3_610, 3_615)] == [5, 10, 10, 10, 15]
    assert clock.pauses == [(0.5, 3_600)]
    assert clock.ticks() == [0, 5, 10, 15, 20]
    assert clock.place(at(9_999)) == 1
    assert Clock(begin, begin).place(begin) == 0
