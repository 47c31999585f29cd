"""The Markdown pipeline: safe HTML without embedded HTML, foreign images or script links."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

from markupsafe import Markup, escape

from manus.prompts.formatting import clean
from manus.prompts.formulas import add_formulas
from manus.prompts.highlighting import render_code_block

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

Locate = Callable[[str], str | None]
"""Returns the address of a file of the workspace; None if there is no such file."""

_MAX_TEXT = 200_000
"""Characters. Longer texts are shown as plain text."""
_SAFE_SCHEMES = ("http://", "https://", "mailto:")
_HEADING_OFFSET = 2
"""Levels to lower headings by: the page has its own headings above them."""


def build_parser() -> MarkdownIt:
    """Build a CommonMark parser with tables, task lists, footnotes, formulas and bare links.

    HTML in the text is escaped, and links get `rel`.
    """
    from markdown_it import MarkdownIt
    from mdit_py_plugins.footnote import footnote_plugin
    from mdit_py_plugins.tasklists import tasklists_plugin

    parser = MarkdownIt("commonmark", {"html": False, "linkify": True})
    parser.enable(["table", "strikethrough", "linkify"])
    parser.use(footnote_plugin, inline=False).use(tasklists_plugin, label=True)
    # only addresses with a scheme: `main.py` is a file, not a host in Paraguay
    parser.linkify.set({"fuzzy_link": False, "fuzzy_email": False})  # type: ignore[union-attr]
    add_formulas(parser)
    parser.add_render_rule("link_open", _render_link)
    return parser


def prose(markdown: str, locate: Locate | None = None) -> Markup:
    """Render a text of the model as HTML.

    Images and links of the workspace are those that `locate` finds. Other images become links: the
    page fetches nothing.
    """
    text = clean(markdown).strip()
    if len(text) > _MAX_TEXT:
        return Markup('<pre class="words" dir="auto">{}</pre>').format(text)
    # ids of footnotes differ between the texts of a page
    env = {"docId": hashlib.sha256(text.encode()).hexdigest()[:8], "locate": locate}
    return Markup(f'<div class="prose" dir="auto">{_prose_parser().render(text, env)}</div>')


def is_safe_link(url: str) -> bool:
    """Return whether a URL is a web page or a mail address, never a script."""
    return url.strip().lower().startswith(_SAFE_SCHEMES)


def _may_be_link(url: str) -> bool:
    """Return whether a URL is safe, or may be the path of a file."""
    return is_safe_link(url) or ":" not in url.partition("/")[0]


@cache
def _prose_parser() -> MarkdownIt:
    parser = build_parser()
    parser.validateLink = _may_be_link  # type: ignore[method-assign]
    parser.core.ruler.push("adapt_to_page", _adapt_to_page)
    parser.add_render_rule("image", _render_image)
    parser.add_render_rule("fence", _render_code)
    parser.add_render_rule("code_block", _render_code)
    parser.add_render_rule("table_open", _open_table)
    parser.add_render_rule("table_close", _close_table)
    return parser


def _adapt_to_page(state: Any) -> None:
    """Lower headings, and align cells by a class: the page's policy forbids inline styles."""
    for token in state.tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(int(token.tag[1]) + _HEADING_OFFSET, 6)}"
        elif token.tag in ("th", "td") and "style" in token.attrs:
            token.attrs = {"class": token.attrs["style"].removeprefix("text-align:")}


def _locate(url: str, env: Any) -> str | None:
    if is_safe_link(url):
        return url
    locate = env.get("locate")
    return locate(url) if locate is not None else None


def _render_image(_renderer: Any, tokens: Any, index: int, _options: Any, env: Any) -> str:
    """Render an image of the workspace; any other image as a link to it."""
    source = str(tokens[index].attrs.get("src", ""))
    text = tokens[index].content
    address = _locate(source, env)
    label = f"[image: {text or source}]"
    if address is None:
        return escape(label)
    if is_safe_link(source):
        return Markup('<a href="{}" rel="noopener noreferrer">{}</a>').format(source, label)
    return Markup('<img src="{}" alt="{}" loading="lazy">').format(address, text)


def _render_link(renderer: Any, tokens: Any, index: int, options: Any, env: Any) -> str:
    address = _locate(str(tokens[index].attrs.get("href", "")), env)
    if address is None:
        del tokens[index].attrs["href"]
    else:
        tokens[index].attrs |= {"href": address, "rel": "noopener noreferrer"}
    return str(renderer.renderToken(tokens, index, options, env))


def _render_code(_renderer: Any, tokens: Any, index: int, _options: Any, _env: Any) -> str:
    words = tokens[index].info.split()
    return render_code_block(tokens[index].content, words[0] if words else "")


def _open_table(renderer: Any, tokens: Any, index: int, options: Any, env: Any) -> str:
    table = renderer.renderToken(tokens, index, options, env)
    return f'<div class="table" role="region" aria-label="Table" tabindex="0">{table}'


def _close_table(renderer: Any, tokens: Any, index: int, options: Any, env: Any) -> str:
    return f"{renderer.renderToken(tokens, index, options, env)}</div>\n"
