"""A report's body as one HTML file: light and dark, on a screen and on paper, with no script."""

from __future__ import annotations

import re
from html import escape
from importlib import resources

from manus.tools.report.body import Body

_CONTENTS_FROM = 4
"""Sections from which on there is a list of them."""
_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; form-action 'none'"
_PAGE = """<!doctype html>
<html{lang}>
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>{title}</title>
<link rel="icon" href="data:,">
<style>
{style}</style>
</head>
<body>
<main dir="auto">
{heading}{contents}{body}</main>
</body>
</html>
"""
_LANGUAGES = (
    ("ja", re.compile(r"[\u3040-\u30ff]")),
    ("ko", re.compile(r"[\uac00-\ud7af]")),
    ("zh", re.compile(r"[\u4e00-\u9fff]")),
)


def page(body: Body, title: str, markdown: str) -> str:
    """The whole file. A report that does not begin with its title gets it as a heading."""
    heading, rest = f"<h1>{escape(title)}</h1>\n", body.html
    if body.html.startswith("<h1"):
        heading, end, rest = body.html.partition("</h1>\n")
        heading += end
    return _PAGE.format(
        lang=_language(markdown),
        policy=escape(_POLICY),
        title=escape(title),
        style=(resources.files("manus.tools.report") / "page.css").read_text("utf-8"),
        heading=heading,
        contents=_contents(body),
        body=rest,
    )


def _language(text: str) -> str:
    """The attribute that has the same character drawn as it is in China, Japan or Korea."""
    found = next((name for name, letters in _LANGUAGES if letters.search(text)), None)
    return f' lang="{found}"' if found else ""


def _contents(body: Body) -> str:
    if len(body.sections) < _CONTENTS_FROM:
        return ""
    lines = (f'<li><a href="#{escape(key)}">{escape(text)}</a></li>' for key, text in body.sections)
    return f"<nav><ol>{''.join(lines)}</ol></nav>\n"
