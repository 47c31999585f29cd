"""Text from a model, a tool or a page never becomes HTML; formatting of figures and times."""

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from manus.pages.report.page import Clock, environment
from manus.pages.trace.agent_runs import idle_intervals
from manus.pages.trace.model import TraceRun
from manus.prompts.formatting import clean, gist
from manus.prompts.markdown import prose
from manus.threads.history import Superstep


def test_invisible_characters_are_removed() -> None:
    output = (
        environment().from_string("{{ x }}").render(x="a\x1b[31mred\x1b[0m\u202egnp\x00\ud800<")
    )
    assert output == "aredgnp\ufffd&lt;"


HOSTILE = (
    '<script>alert(1)</script><b onclick="x">&amp;',
    "[x](JaVaScRiPt:alert(1))",
    "<javascript:alert(1)>",
    '![x](https://example.org/a.png "onerror=alert(1)")',
    '![<img src=x onerror="alert(1)">](https://example.org/"onclick=alert(1))',
    "```<script>\nalert(1)</script>\n```",
    "<iframe src=https://example.org></iframe>",
)


def test_markdown_of_a_model_runs_nothing_and_fetches_nothing(subtests: pytest.Subtests) -> None:
    for html in map(prose, HOSTILE):
        with subtests.test(html=html):
            assert not re.search(r"<(script|img|iframe|object|b )", html)
            assert not re.search(r'(href|src)="(?!https?:|mailto:)', html)
            assert not re.search(r"<[^>]*\son\w+=", re.sub(r'"[^"]*"', '""', html))
    html = prose("# Title\n\n**bold** [x](https://example.org)\n\n| a | b |\n|-|-|\n| 1 | 2 |")
    for part in ("<h3>Title", "<strong>bold", '<a href="https://example.org"', "<td>1</td>"):
        with subtests.test(part=part):
            assert part in html
    assert "<strong>" not in prose("**x** " * 50_000), "too long for Markdown"


GISTS = {
    "a\nb": "a (+1 line)",
    "collected 3\nE: no\n[exit code 2]": "exit code 2: E: no",
    "[killed by SIGKILL]": "killed by SIGKILL",
    "printed\nTraceback (most recent call last):\n  x\nE: y\n": "E: y",
    "": "(nothing)",
}


def test_the_gist_of_an_observation() -> None:
    assert {raw: gist(raw) for raw in GISTS} == GISTS


def test_the_clock_stops_while_nothing_runs() -> None:
    begin = datetime(2026, 1, 1, tzinfo=UTC)

    def at(seconds: float) -> datetime:
        return begin + timedelta(seconds=seconds)

    began, stood, went_on = at(5), at(10), at(3_610)
    superstep = Superstep("1", began, None, {"started": at(0).isoformat()}, {}, [])
    taken_up: dict[str, Any] = {"started": went_on.isoformat()}
    resumed = replace(
        superstep, started_at=at(3_615), metadata=taken_up | {"stood": stood.isoformat()}
    )
    killed = replace(resumed, metadata=taken_up)
    assert idle_intervals([superstep, killed]) == [(began, went_on)]
    assert idle_intervals([superstep, resumed]) == [(stood, went_on)]
    clock = Clock(TraceRun("agent", started_at=begin, ended_at=at(3_620), idle=[(stood, went_on)]))
    assert clock.length == 20
    assert [clock.seconds(at(s)) for s in (5, 10, 2_000, 3_610, 3_615)] == [5, 10, 10, 10, 15]
    assert clock.idle == [(0.5, 3_600)]
    assert clock.position(at(9_999)) == 1
    assert Clock(TraceRun("agent", started_at=begin, ended_at=begin)).position(begin) == 0


_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
CLEANED = {
    "\x1b[31mred\x1b[0m": "red",
    "\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\": "link",
    "10 %\r20 %\r\n": "10 %\n20 %\n",
    "[bold]no markup[/bold]": "[bold]no markup[/bold]",
}
_nasty = st.text(st.sampled_from("ab1;[]mJ\\P(\x1b\x07\x9b\x9c\r\n\x00\u202e\ud83d"), max_size=30)


@given(_nasty)
def test_cleaned_text_contains_no_control_characters(text: str) -> None:
    assert not _CONTROL.search(clean(text))
    assert {raw: clean(raw) for raw in CLEANED} == CLEANED
