"""The main text of a page as Markdown."""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import urljoin

MAX_HTML = 5_000_000
"""Characters of a page that are looked at; what comes behind is left out."""

_SKIP = re.compile(
    "script|style|noscript|template|head|title|nav|footer|svg|iframe|object|form|button|select"
)
_SKIP_FULL = re.compile("script|style|noscript|template|head|title|svg|iframe|object")
_BLOCK = re.compile(
    "p|div|section|article|main|aside|header|footer|nav|ul|ol|dl|figure|blockquote|form|fieldset"
    "|table|address|details|summary"
)
# Below this share of what can be read on a page, what was taken for its main text is too little:
# it is a list, a table or an application, and no article.
_ENOUGH = 0.25


@dataclass(frozen=True, slots=True)
class MainText:
    """What a page says."""

    title: str
    text: str


def main_text(html: str, url: str) -> MainText:
    """The main text of a page; all of its text where it has no main part. Blocking."""
    import lxml.html  # type: ignore[import-untyped]
    from lxml.etree import LxmlError  # type: ignore[import-untyped]

    html = html[:MAX_HTML].replace("\0", "")
    if not re.search("<body", html, re.IGNORECASE):
        # the parser would put what it does not know (nav, article) into the head
        html = f"<html><body>{html}</body></html>" if html.strip() else ""
    try:
        tree: Any = lxml.html.document_fromstring(html) if html.strip() else None
    except (LxmlError, ValueError):
        tree = None
    if tree is None:
        return MainText("", "")
    title = " ".join((tree.findtext(".//title") or "").split())
    article = _article(html, url)
    everything = _tidy("".join(_markdown(tree, url, _SKIP_FULL, 0)))
    if len(article) >= max(200, _ENOUGH * len(everything)):
        return MainText(title, article)
    body = _tidy("".join(_markdown(tree, url, _SKIP, 0)))
    return MainText(title, body if len(body) >= 0.5 * len(everything) else everything)


def _article(html: str, url: str) -> str:
    import trafilatura

    # it has much to say of pages without an article, and none of it is for a user
    logging.getLogger("trafilatura").setLevel(logging.CRITICAL)
    found = trafilatura.extract(
        html,
        url=url,
        output_format="markdown",
        favor_recall=True,
        include_tables=True,
        include_links=True,
        include_formatting=True,
    )
    return (found or "").strip()


def _markdown(node: Any, url: str, skip: re.Pattern[str], depth: int) -> list[str]:
    """A plain rendering of everything that can be read, in the order in which it stands."""
    if not isinstance(node.tag, str) or skip.fullmatch(node.tag) or depth > 200 or _hidden(node):
        return [node.tail or ""] if depth else []
    tag = node.tag
    inner = [node.text or ""]
    for child in node:
        inner.extend(_markdown(child, url, skip, depth + 1))
    text = (
        inner
        if tag == "pre"
        else [re.sub(r"[ \t\r\f\v\n]+", " ", p) if "\n\n" not in p else p for p in inner]
    )
    return [*_wrap(tag, node, text, url), node.tail or ""]


def _wrap(tag: str, node: Any, inner: list[str], url: str) -> list[str]:
    words = "".join(inner).strip()
    if tag == "br":
        return ["\n\n"]
    if tag == "img":
        return [f" (image: {node.get('alt')}) "] if node.get("alt") else []
    if not words:
        return [" "]
    if re.fullmatch(r"h[1-6]", tag):
        return [f"\n\n{'#' * int(tag[1])} {' '.join(words.split())}\n\n"]
    if tag == "li":
        return [f"\n\n- {words}\n\n"]
    if tag in {"td", "th"}:
        return [f" {' '.join(words.split())} |"]
    if tag == "tr":
        return [f"\n\n| {words}\n\n"]
    if tag == "a" and node.get("href") and "\n\n" not in words:
        href = node.get("href").strip()
        if href.startswith(("#", "javascript:")):
            return inner
        return [f"[{' '.join(words.split())}]({_absolute(url, href)})"]
    return ["\n\n", *inner, "\n\n"] if _BLOCK.fullmatch(tag) else inner


def _absolute(url: str, href: str) -> str:
    try:
        return urljoin(url, href)
    except ValueError:
        return href


def _hidden(node: Any) -> bool:
    style = (node.get("style") or "").replace(" ", "").lower()
    return node.get("hidden") is not None or "display:none" in style


def _tidy(text: str) -> str:
    blocks = [" ".join(block.split()) for block in re.split(r"\n\s*\n", text)]
    kept = [block for block in blocks if block and block not in {"|", "-"}]
    joined = "\n\n".join(kept)
    joined = re.sub(r"(?m)^(- .*)\n\n(?=- )", r"\1\n", joined)
    return re.sub(r"(?m)^(\| .*)\n\n(?=\| )", r"\1\n", joined)
