"""Markdown as one HTML page. HTML in it is text; nothing in the result fetches anything."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING

from jinja2 import Environment, PackageLoader
from markupsafe import Markup

from manus.tools.report.files import Files

if TYPE_CHECKING:
    from markdown_it.token import Token

_LEFT_OVER = re.compile(r"!\[[^\]\n]*\]\([^)\n]+\)")
_LANGUAGES = (
    ("ja", re.compile(r"[\u3040-\u30ff]")),
    ("ko", re.compile(r"[\uac00-\ud7af]")),
    ("zh", re.compile(r"[\u4e00-\u9fff]")),
)
"""Scripts by which the same character is drawn as it is in China, Japan or Korea."""


@dataclass(slots=True)
class Page:
    """The whole file, and what is in it."""

    html: str = ""
    title: str = ""
    sections: list[tuple[str, str]] = field(default_factory=list)
    """Headings of the second level: their ids and texts."""
    tables: int = 0
    not_read: list[str] = field(default_factory=list)
    """What looks like a picture and is none in Markdown, such as a path with a space."""


def to_page(markdown: str, title: str, files: Files) -> Page:
    """The page of a report; without a `title` its first heading is the title.

    Raises:
        ToolError: a picture that it names cannot be put into it.
    """
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    tokens = parser.parse(markdown)
    page = Page(title=title, tables=sum(token.type == "table_open" for token in tokens))
    _name_headings(tokens, page)
    for token in tokens:
        for part in token.children or ():
            _resolve(part, files, page)
    _make_figures(tokens)
    split = 3 if tokens and tokens[0].tag == "h1" else 0
    heading, body = (
        Markup(parser.renderer.render(part, parser.options, {}))
        for part in (tokens[:split], tokens[split:])
    )
    templates = Environment(loader=PackageLoader("manus.tools.report", ""), autoescape=True)
    page.title = page.title or "Report"
    page.html = templates.get_template("page.html.j2").render(
        language=next((name for name, letters in _LANGUAGES if letters.search(markdown)), None),
        title=page.title,
        heading=heading,
        sections=page.sections,
        body=body,
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


def _resolve(part: Token, files: Files, page: Page) -> None:
    """Embed a picture, or a link to one on the web; let a link lead to what may be opened."""
    if part.type == "image":
        source = str(part.attrs["src"])
        url = files.picture(source)
        if url is not None:
            part.attrSet("src", url)
        else:
            words = escape(f"[picture: {part.content or source}]")
            part.type = "html_inline"
            part.content = f'<a href="{escape(source)}" rel="noopener noreferrer">{words}</a>'
    elif part.type == "link_open":
        target = files.link(str(part.attrs.pop("href")))
        if target is not None:
            part.attrs.update(href=target, rel="noopener noreferrer")
    elif part.type == "text":
        page.not_read += _LEFT_OVER.findall(part.content)


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
