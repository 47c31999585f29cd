"""Markdown as the body of a report. HTML in it is text; nothing in the result fetches anything."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from html import escape
from typing import TYPE_CHECKING, Any

from manus.tools.report.pictures import Pictures, is_web

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_LEFT_OVER = re.compile(r"!\[[^\]\n]*\]\([^)\n]+\)")
_NUMBER = re.compile(r"[-+−±~≈<>]?\s*[$€£¥]?\s*\d[\d.,'\u00a0\u202f ]*\s*[%‰]?")


@dataclass(slots=True)
class Body:
    """A report's body, and what is in it."""

    html: str
    title: str
    sections: list[tuple[str, str]] = field(default_factory=list)
    """Headings of the second level: their ids and texts."""
    tables: int = 0
    not_read: list[str] = field(default_factory=list)
    """What looks like a picture and is none in Markdown, such as a path with a space."""


def to_body(markdown: str, pictures: Pictures) -> Body:
    """The body of a report.

    Raises:
        ToolError: a picture that it names cannot be put into it.
    """
    renderer = _markdown()
    tokens = renderer.parse(markdown)
    body = Body("", "")
    _name_headings(tokens, body)
    for token in _inline(tokens):
        token.children = _with_pictures(token.children or [], pictures)
        body.not_read += [
            found
            for c in token.children
            if c.type == "text"
            for found in _LEFT_OVER.findall(c.content)
        ]
    _lay_out_tables(tokens, body)
    _make_figures(tokens)
    body.html = str(renderer.renderer.render(tokens, renderer.options, {}))
    return body


@cache
def _markdown() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])


def _inline(tokens: Sequence[Token]) -> Iterator[Token]:
    return (token for token in tokens if token.type == "inline")


def _name_headings(tokens: Sequence[Token], body: Body) -> None:
    """Give each heading an id, as links within the report name it."""
    used: dict[str, int] = {}
    for opening, inline in itertools.pairwise(tokens):
        if opening.type != "heading_open":
            continue
        text = plain_text(inline)
        name = re.sub(r"[^\w\- ]", "", text.lower()).strip().replace(" ", "-") or "section"
        used[name] = used.get(name, 0) + 1
        key = name if used[name] == 1 else f"{name}-{used[name] - 1}"
        opening.attrSet("id", key)
        if opening.tag == "h1" and not body.title:
            body.title = text
        if opening.tag == "h2":
            body.sections.append((key, text))


def plain_text(inline: Token) -> str:
    """The words of a line without their marks."""
    words = (c.content if c.content else " " if "break" in c.type else "" for c in _all(inline))
    return " ".join("".join(words).split())


def _all(inline: Token) -> list[Token]:
    return inline.children or []


def _with_pictures(children: Sequence[Token], pictures: Pictures) -> list[Token]:
    """The parts of a line: pictures embedded, links that lead nowhere taken out."""
    kept: list[Token] = []
    open_links: list[bool] = []
    for token in children:
        if token.type == "image":
            kept.append(_picture(token, pictures))
        elif token.type == "link_open":
            href = pictures.link(str(token.attrs.get("href", "")))
            open_links.append(href is not None)
            if href is not None:
                token.attrSet("href", href)
                token.attrSet("rel", "noopener noreferrer")
                kept.append(token)
        elif token.type == "link_close":
            if open_links.pop():
                kept.append(token)
        else:
            kept.append(token)
    return kept


def _picture(token: Token, pictures: Pictures) -> Token:
    source = str(token.attrs.get("src", ""))
    url = pictures.embed(source)
    if url is not None:
        token.attrSet("src", url)
        return token
    return _raw(_link_to(source, token.content or source))


def _link_to(source: str, words: str) -> str:
    text = f"[picture: {escape(words)}]"
    if not is_web(source):
        return text
    return f'<a href="{escape(source, quote=True)}" rel="noopener noreferrer">{text}</a>'


def _raw(html: str) -> Token:
    """HTML of our own making; the Markdown itself cannot make any."""
    from markdown_it.token import Token

    return Token("html_inline", "", 0, content=html)


def _make_figures(tokens: Sequence[Token]) -> None:
    """A picture that stands alone becomes a figure; its title, or else its text, is the caption."""
    for place, inline in enumerate(tokens):
        children = _all(inline)
        alone = inline.type == "inline" and [c.type for c in children] == ["image"]
        if not alone or tokens[place - 1].type != "paragraph_open":
            continue
        tokens[place - 1].tag = tokens[place + 1].tag = "figure"
        image = children[0]
        caption = str(image.attrs.pop("title", "") or image.content)
        if caption:
            children.append(_raw(f"<figcaption>{escape(caption)}</figcaption>"))


def _lay_out_tables(tokens: list[Token], body: Body) -> None:
    """Let wide tables scroll, and put columns of numbers to the right where nothing is said."""
    place = 0
    while place < len(tokens):
        token = tokens[place]
        if token.type == "table_open":
            body.tables += 1
            end = next(i for i in range(place, len(tokens)) if tokens[i].type == "table_close")
            _align(tokens[place:end])
            tokens.insert(end + 1, _block("</div>\n"))
            tokens.insert(place, _block('<div class="table">\n'))
            place += 1
        place += 1


def _block(html: str) -> Token:
    from markdown_it.token import Token

    return Token("html_block", "", 0, content=html)


def _align(table: Sequence[Token]) -> None:
    cells: dict[int, list[tuple[Token, str]]] = {}
    column = 0
    for opening, inline in itertools.pairwise(table):
        if opening.type == "tr_open":
            column = 0
        if opening.type in ("th_open", "td_open"):
            cells.setdefault(column, []).append((opening, plain_text(inline)))
            column += 1
    for found in cells.values():
        body = [text for cell, text in found if cell.type == "td_open" and text]
        said: Any = any("style" in cell.attrs for cell, _ in found)
        if body and not said and all(_NUMBER.fullmatch(text) for text in body):
            for cell, _ in found:
                cell.attrSet("class", "number")
