"""The text of a page or a PDF, read by a program of its own that can be ended.

What strangers wrote may take any amount of time and memory to read; `reader.parse` runs this.
It reads a line of JSON (`kind`, `url`, `charset`) and the bytes, and answers with JSON: `title` and
`text`, or `error`, which completes the sentence "… was not read: …".
"""

from __future__ import annotations

import contextlib
import io
import json
import logging
import re
import sys
from typing import Any
from urllib.parse import urljoin

MAX_PDF_PAGES = 300
_MAX_HTML = 5_000_000
_MEMORY = 1 << 30
_CPU_SECONDS = 30
# Below this share of what can be read on a page, what was taken for its main text is too little:
# it is a list or an application, and no article.
_ENOUGH = 0.25
_WANTED: dict[str, Any] = dict.fromkeys(
    ("favor_recall", "include_tables", "include_links", "include_formatting"), True
)
_LISTED = 3
_ENTRY = 200
"""Characters of an entry of a list; an article is longer than the titles beside it times this."""
_BLOCKS = re.findall(
    r"\w+",
    "p div li ul ol dl dt dd tr table section article header footer main nav aside form h1 h2 h3 "
    "h4 h5 h6 br hr pre blockquote figure figcaption option",
)


def main() -> None:
    """Answer one question."""
    _limit()
    question = json.loads(sys.stdin.buffer.readline())
    data = sys.stdin.buffer.read()
    logging.disable(logging.CRITICAL)
    try:
        if question["kind"] == "pdf":
            answer = {"title": question["url"].rsplit("/", 1)[-1], "text": pdf_text(data)}
        else:
            answer = html_text(decoded(data, question["charset"]), question["url"])
    except ValueError as error:
        answer = {"error": str(error)}
    sys.stdout.buffer.write(json.dumps(answer).encode())


def _limit() -> None:
    with contextlib.suppress(ImportError, ValueError, OSError):  # elsewhere only the time counts
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (_CPU_SECONDS, _CPU_SECONDS))


def decoded(data: bytes, charset: str | None) -> str:
    """Text in the character set that is declared, or the one that it looks like."""
    declared = re.search(rb"""<meta[^>]+charset=["']?([\w-]+)""", data[:2048], re.IGNORECASE)
    for name in (charset, declared and declared[1].decode("ascii"), "utf-8"):
        with contextlib.suppress(LookupError, UnicodeDecodeError):
            if name:
                return data.decode(name)
    from charset_normalizer import from_bytes

    best = from_bytes(data[:100_000]).best()
    return data.decode(best.encoding if best else "utf-8", "replace")


def html_text(html: str, url: str) -> dict[str, str]:
    """Title and main text of a page, as Markdown; all of its text where it has no main part."""
    import lxml.html  # type: ignore[import-untyped]
    import trafilatura
    from lxml.etree import LxmlError, strip_elements  # type: ignore[import-untyped]

    html = html[:_MAX_HTML].replace("\0", "")
    if "<body" not in html[:100_000].lower() and html.strip():
        # the parser would put what it does not know (nav, article) into the head
        html = f"<html><body>{html}</body></html>"
    try:
        tree = lxml.html.document_fromstring(html)
    except (LxmlError, ValueError):
        return {"title": "", "text": ""}
    title = " ".join((tree.findtext(".//title") or "").split())
    article = trafilatura.extract(html, url=url, output_format="markdown", **_WANTED)
    strip_elements(tree, "script", "style", "noscript", "template", "head", "svg", with_tail=False)
    found = (article or "").strip()
    is_enough = len(found) >= _ENOUGH * len(" ".join(tree.text_content().split()))
    is_article = is_enough and not _is_list(found, tree)
    return {"title": title, "text": found if is_article else _everything(tree, url)}


def _is_list(found: str, tree: Any) -> bool:
    """Whether what was taken for an article is a list whose links lost their addresses or names."""
    bare = set(found.split("\n"))
    links = (" ".join(link.text_content().split()) for link in tree.iter("a"))
    if sum(text in bare for text in links if text) >= _LISTED:
        return True
    titles = tree.xpath("//*[self::h2 or self::h3 or self::h4][.//a or ancestor::a]")
    lost = sum(" ".join(title.text_content().split()) not in found for title in titles)
    return lost >= _LISTED and lost * _ENTRY > len(found)


def _everything(tree: Any, url: str) -> str:
    """All text of a page, a line for each block, its links with their addresses."""
    for element in tree.iter():
        if isinstance(element.tag, str):
            element.text = " ".join((element.text or "").split()) + " "
        element.tail = " " + " ".join((element.tail or "").split())
    for link in list(tree.iter("a")):
        text = " ".join(link.text_content().split()) or link.get("aria-label") or link.get("title")
        href = link.get("href") or "#"
        address = urljoin(url, href)
        if text and address.startswith(("http:", "https:", "file:")) and not href.startswith("#"):
            tail = link.tail
            link.clear()
            link.text = f"[{text}]({address})"
            link.tail = tail
    for element in tree.iter(*_BLOCKS):
        element.text = "\n" + (element.text or "")
        element.tail = "\n" + (element.tail or "")
    lines = (" ".join(line.split()) for line in tree.text_content().split("\n"))
    return "\n".join(line for line in lines if line)


def pdf_text(data: bytes) -> str:
    """The pages of a PDF under a heading each; a `ValueError` if it cannot be read."""
    from pypdf import PdfReader
    from pypdf.errors import PyPdfError

    try:
        reader = PdfReader(io.BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            raise ValueError("the PDF asks for a password")
        count = len(reader.pages)
        pages = [page.extract_text().strip() for page in reader.pages[:MAX_PDF_PAGES]]
    except (PyPdfError, KeyError, TypeError, IndexError, RecursionError, OSError) as error:
        raise ValueError(f"the PDF cannot be read ({type(error).__name__})") from None
    parts = [f"## Page {number}\n\n{text}" for number, text in enumerate(pages, 1) if text]
    if not parts:
        return f"(The PDF has {count} pages without text: they are pictures.)"
    if count > len(pages):
        parts.append(f"({count - len(pages)} more pages were not read.)")
    return "\n\n".join(parts)


if __name__ == "__main__":
    main()
