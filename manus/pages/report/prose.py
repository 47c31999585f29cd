"""Markdown of the model as HTML: no HTML of its own, no image fetched, no link that runs."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from markupsafe import Markup, escape

from manus.prompts.formatting import clean

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

_LONGEST = 200_000
"""Characters above which a text is shown as it stands."""
_SCHEMES = ("http://", "https://", "mailto:")
_DEEPER = 2
"""Levels by which headings are set down: the page has its own above them."""


def prose(given: str) -> Markup:
    """A text of the model, with its Markdown."""
    words = clean(given).strip()
    if len(words) > _LONGEST:
        return Markup('<pre class="words" dir="auto">{}</pre>').format(words)
    return Markup(f'<div class="prose" dir="auto">{_renderer().render(words)}</div>')


def is_safe_link(url: str) -> bool:
    """Whether a link may be followed: to a web page or a mail address, and never to a script."""
    return url.strip().lower().startswith(_SCHEMES)


@cache
def _renderer() -> MarkdownIt:
    from markdown_it import MarkdownIt

    markdown = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    markdown.validateLink = is_safe_link  # type: ignore[method-assign]
    markdown.core.ruler.push("deeper_headings", _deeper)
    markdown.add_render_rule("image", _image)
    markdown.add_render_rule("link_open", _link)
    return markdown


def _deeper(state: Any) -> None:
    for token in state.tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(int(token.tag[1]) + _DEEPER, 6)}"


def _image(_renderer: Any, tokens: Any, place: int, _options: Any, _env: Any) -> str:
    """An image as a link to it: the page asks nobody for anything."""
    source = str(tokens[place].attrs.get("src", ""))
    words = f"[image: {tokens[place].content or source}]"
    link = '<a href="{}" rel="noopener noreferrer">{}</a>'
    return Markup(link).format(source, words) if is_safe_link(source) else escape(words)


def _link(renderer: Any, tokens: Any, place: int, options: Any, env: Any) -> str:
    tokens[place].attrSet("rel", "noopener noreferrer")
    return str(renderer.renderToken(tokens, place, options, env))
