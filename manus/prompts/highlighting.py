"""Highlight code blocks with classes, so that a page's policy can forbid inline styles."""

from __future__ import annotations

from markupsafe import Markup, escape

_MAX_CODE = 50_000
"""Characters. Longer blocks are not highlighted."""
_PREFIX = "hl-"


def render_code_block(code: str, language: str) -> Markup:
    """Return a code block with the name of its language and a button that copies it.

    The button is hidden until the script of the page shows it.
    """
    return Markup(
        '<div class="code"><div class="code-head"><span>{}</span>'
        '<button type="button" class="copy" hidden>Copy</button></div>'
        '<pre tabindex="0"><code>{}</code></pre></div>\n'
    ).format(language, highlight_code(code, language))


def highlight_code(code: str, language: str) -> Markup:
    """Return code as HTML, highlighted if its language is known."""
    from pygments import highlight
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import get_lexer_by_name
    from pygments.util import ClassNotFound

    if not language or len(code) > _MAX_CODE:
        return escape(code)
    try:
        lexer = get_lexer_by_name(language, stripnl=False)
    except ClassNotFound:
        return escape(code)
    return Markup(highlight(code, lexer, HtmlFormatter(nowrap=True, classprefix=_PREFIX)))
