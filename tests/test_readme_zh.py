"""The two READMEs are kept in step: what is not prose is the same in both, section by section."""

import re
from collections import Counter
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).parents[1]
ENGLISH, CHINESE = ROOT / "README.md", ROOT / "README.zh.md"
_FIGURE = re.compile(r"\d+(?:[.,]\d+)*")


def tokens(page: Path) -> list[Token]:
    return MarkdownIt("commonmark").enable("table").parse(page.read_text("utf-8"))


def sections(page: Path) -> list[Counter[Any]]:
    """What a translation has in common with the page, for each heading and the text below it.

    A sentence may be turned round in it: what is in a section has no order.
    """
    found = [Counter[Any]()]
    for token in tokens(page):
        if token.type == "heading_open":
            found.append(Counter([("heading", token.tag)]))
        elif token.type == "fence":
            found[-1][token.info, token.content] += 1
        elif token.type in ("tr_open", "td_open", "list_item_open"):
            found[-1][token.type] += 1
        for part in token.children or []:
            if part.type == "link_open":
                link = str(part.attrGet("href"))
                found[-1]["link", re.sub(r"^README.*\.md$", "the other page", link)] += 1
            elif part.type == "code_inline":
                found[-1]["code", part.content] += 1
            elif part.type == "text":
                found[-1].update(("figure", one) for one in _FIGURE.findall(part.content))
    return found


def test_the_translation_is_in_step() -> None:
    one, other = sections(ENGLISH), sections(CHINESE)
    assert len(one) == len(other), "the headings differ"
    for place, (mine, its) in enumerate(zip(one, other, strict=True)):
        assert (mine - its, its - mine) == ({}, {}), (
            f"change README.md and README.zh.md together: section {place}"
        )
    assert f"]({CHINESE.name})" in ENGLISH.read_text("utf-8")
    assert f"]({ENGLISH.name})" in CHINESE.read_text("utf-8")


def test_no_mark_of_markdown_is_left_in_the_text() -> None:
    """Beside Chinese punctuation a pair of stars may mean nothing, and is then shown."""
    texts = [p for token in tokens(CHINESE) for p in token.children or [] if p.type == "text"]
    assert not [part.content for part in texts if "**" in part.content or "`" in part.content]
