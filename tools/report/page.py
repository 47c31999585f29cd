"""Markdown as one HTML page. HTML in it is text; nothing in the result fetches anything."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING

from jinja2 import Environment, PackageLoader
from markupsafe import Markup

if TYPE_CHECKING:
    from markdown_it.token import Token

_LEFT_OVER = re.compile(r"!\[[^\]\n]*\]\([^)\n]+\)")
_WEB = re.compile(r"https?:", re.IGNORECASE)


@dataclass(slots=True)
class Page:
    """The whole file, and what is in it."""

    html: str = ""
    title: str = ""
    sections: list[tuple[str, str]] = field(default_factory=list)
    """Headings of the second level: their ids and texts."""
    pictures: int = 0
    tables: int = 0
    links: list[str] = field(default_factory=list)
    """Pictures on the web, which are not fetched."""
    missing: list[str] = field(default_factory=list)
    """Pictures that are not there, or are none in Markdown, such as a path with a space."""


def to_page(markdown: str, title: str, embed: Callable[[str], str | None]) -> Page:
    """The page of a report; without a `title` its first heading is the title.

    `embed` makes a data URL of a picture's name, or None of one that is not there.
    """
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    tokens = parser.parse(markdown)
    page = Page(title=title, tables=sum(token.type == "table_open" for token in tokens))
    _name_headings(tokens, page)
    for token in tokens:
        for part in token.children or ():
            _resolve(part, embed, page)
    _make_figures(tokens)
    split = 3 if tokens and tokens[0].tag == "h1" else 0
    heading, body = (
        Markup(parser.renderer.render(part, parser.options, {}))
        for part in (tokens[:split], tokens[split:])
    )
    templates = Environment(loader=PackageLoader("manus.tools.report", ""), autoescape=True)
    page.title = page.title or "Report"
    page.html = templates.get_template("page.html.j2").render(
        title=page.title, heading=heading, sections=page.sections, body=body
    )
    return page


def _name_headings(tokens: Sequence[Token], page: Page) -> None:
    """Give each heading an id, as links within the report name it."""
    used: dict[str, int] = {}
    for opening, inline in itertools.pairwise(tokens):
        if opening.type != "heading_open":
            continue
        text = "".join(part.content for part in inline.children or ())
        name = re.sub(r"[^\w\- ]", "", text.lower()).strip().replace(" ", "-") or "section"
        used[name] = used.get(name, 0) + 1
        key = name if used[name] == 1 else f"{name}-{used[name] - 1}"
        opening.attrSet("id", key)
        if opening.tag == "h1":
            page.title = page.title or text
        if opening.tag == "h2":
            page.sections.append((key, text))


def _resolve(part: Token, embed: Callable[[str], str | None], page: Page) -> None:
    """Embed a picture, or a link to one on the web."""
    if part.type == "link_open":
        part.attrSet("rel", "noopener noreferrer")
    if part.type == "text":
        page.missing += _LEFT_OVER.findall(part.content)
    if part.type != "image":
        return
    source = str(part.attrs["src"])
    is_web = _WEB.match(source) is not None
    url = None if is_web else embed(source)
    if url is not None:
        page.pictures += 1
        part.attrSet("src", url)
        return
    (page.links if is_web else page.missing).append(source)
    words = escape(f"[picture: {part.content or source}]")
    part.type = "html_inline"
    part.content = f'<a href="{escape(source)}" rel="noopener noreferrer">{words}</a>'


def _make_figures(tokens: Sequence[Token]) -> None:
    """A picture that stands alone becomes a figure; its title, or else its text, is the caption."""
    from markdown_it.token import Token

    for opening, inline, closing in zip(tokens, tokens[1:], tokens[2:], strict=False):
        parts = inline.children or []
        if opening.type != "paragraph_open" or [part.type for part in parts] != ["image"]:
            continue
        opening.tag = closing.tag = "figure"
        if caption := str(parts[0].attrs.pop("title", "") or parts[0].content):
            caption = f"<figcaption>{escape(caption)}</figcaption>"
            parts.append(Token("html_inline", "", 0, content=caption))
