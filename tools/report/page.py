"""A report's body as one HTML file: light and dark, on a screen and on paper, with no script."""

from __future__ import annotations

import re

from jinja2 import Environment, PackageLoader
from markupsafe import Markup

from manus.tools.report.body import Body

_LANGUAGES = (
    ("ja", re.compile(r"[\u3040-\u30ff]")),
    ("ko", re.compile(r"[\uac00-\ud7af]")),
    ("zh", re.compile(r"[\u4e00-\u9fff]")),
)
"""Scripts by which the same character is drawn as it is in China, Japan or Korea."""


def page(body: Body, title: str, markdown: str) -> str:
    """The whole file. A report that does not begin with its title gets it as a heading."""
    templates = Environment(loader=PackageLoader("manus.tools.report", ""), autoescape=True)
    found = re.match(r"<h1.*?</h1>\n", body.html, re.DOTALL)
    heading = found[0] if found else ""
    return templates.get_template("page.html.j2").render(
        language=next((name for name, letters in _LANGUAGES if letters.search(markdown)), None),
        title=title,
        heading=Markup(heading.rstrip()),
        sections=body.sections,
        body=Markup(body.html[len(heading) :]),
    )
