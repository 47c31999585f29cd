"""The Markdown pipeline: safe HTML without embedded HTML, fetched images or script links."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from markupsafe import Markup, escape

from manus.prompts.formatting import clean

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

_MAX_TEXT = 200_000
"""Characters. Longer texts are shown as plain text."""
_SAFE_SCHEMES = ("http://", "https://", "mailto:")
_HEADING_OFFSET = 2
"""Levels to lower headings by: the page has its own headings above them."""


def build_parser() -> MarkdownIt:
    """Build a CommonMark parser with tables; HTML in the text is escaped, links get `rel`."""
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    parser.add_render_rule("link_open", _render_link)
    return parser


def prose(markdown: str) -> Markup:
    """Render a text of the model as HTML. Images become links: the page fetches nothing."""
    text = clean(markdown).strip()
    if len(text) > _MAX_TEXT:
        return Markup('<pre class="words" dir="auto">{}</pre>').format(text)
    return Markup(f'<div class="prose" dir="auto">{_prose_parser().render(text)}</div>')


def is_safe_link(url: str) -> bool:
    """Return whether a URL is a web page or a mail address, never a script."""
    return url.strip().lower().startswith(_SAFE_SCHEMES)


@cache
def _prose_parser() -> MarkdownIt:
    parser = build_parser()
    parser.validateLink = is_safe_link  # type: ignore[method-assign]
    parser.core.ruler.push("lower_headings", _lower_headings)
    parser.add_render_rule("image", _render_image)
    return parser


def _lower_headings(state: Any) -> None:
    for token in state.tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(int(token.tag[1]) + _HEADING_OFFSET, 6)}"


def _render_image(_renderer: Any, tokens: Any, index: int, _options: Any, _env: Any) -> str:
    """Render an image as a link to it."""
    source = str(tokens[index].attrs.get("src", ""))
    label = f"[image: {tokens[index].content or source}]"
    if not is_safe_link(source):
        return escape(label)
    return Markup('<a href="{}" rel="noopener noreferrer">{}</a>').format(source, label)


def _render_link(renderer: Any, tokens: Any, index: int, options: Any, env: Any) -> str:
    tokens[index].attrSet("rel", "noopener noreferrer")
    return str(renderer.renderToken(tokens, index, options, env))
