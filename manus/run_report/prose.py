"""Markdown of the model as HTML: no HTML of its own, no image fetched, no link that runs."""

from __future__ import annotations

from collections.abc import MutableMapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from manus.run_report.markup import Html, tag
from manus.text import clean

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_LONGEST = 200_000
"""Characters above which a text is shown as it stands."""
_SCHEMES = ("http://", "https://", "mailto:")
_DEEPER = 2
"""Levels by which headings are set down: the page has its own above them."""


def prose(given: str) -> Html:
    """A text of the model, with its Markdown."""
    words = clean(given).strip()
    if len(words) > _LONGEST:
        return tag("div", words, class_="prose plain", dir="auto")
    rendered = Html(_renderer().render(words))
    return tag("div", rendered, class_="prose", dir="auto")


def is_safe(url: str) -> bool:
    """Whether a link may be followed: to a web page or a mail address, and never to a script."""
    return url.strip().lower().startswith(_SCHEMES)


@cache
def _renderer() -> MarkdownIt:
    from markdown_it import MarkdownIt

    markdown = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    markdown.validateLink = is_safe  # type: ignore[method-assign]
    markdown.core.ruler.push("deeper_headings", _deeper)
    markdown.add_render_rule("image", _image)
    markdown.add_render_rule("link_open", _link)
    return markdown


def _deeper(state: Any) -> None:
    for token in state.tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(int(token.tag[1]) + _DEEPER, 6)}"


def _image(
    _renderer: Any,
    tokens: Sequence[Token],
    place: int,
    _options: Any,
    _env: MutableMapping[Any, Any],
) -> str:
    """An image as a link to it: the page asks nobody for anything."""
    source = str(tokens[place].attrs.get("src", ""))
    words = f"[image: {tokens[place].content or source}]"
    if not is_safe(source):
        return tag("span", words)
    return tag("a", words, href=source, rel="noopener noreferrer")


def _link(
    renderer: Any, tokens: Sequence[Token], place: int, options: Any, env: MutableMapping[Any, Any]
) -> str:
    tokens[place].attrSet("rel", "noopener noreferrer")
    return str(renderer.renderToken(tokens, place, options, env))
