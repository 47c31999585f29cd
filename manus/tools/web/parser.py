"""Extract the text of a page or a PDF in a separate process, which can be killed.

Parsing untrusted content may take any amount of time and memory. `reader.parse` runs this program.
It reads a line of JSON (`kind`, `url`, `charset`) and the bytes, and prints JSON: `title` and
`text`, or `error`, which completes the sentence "Cannot read …: …".
"""

from __future__ import annotations

import contextlib
import io
import json
import logging
import re
import sys
from copy import deepcopy
from typing import Any
from urllib.parse import urldefrag

MAX_PDF_PAGES = 300
_MAX_HTML = 5_000_000
_MAX_MEMORY = 1 << 30
_CPU_SECONDS = 30
# Minimum share of the main text in the text of the page; below it the page is a list or an
# application rather than an article.
_MIN_SHARE = 0.25
_OPTIONS: dict[str, Any] = dict.fromkeys(
    ("favor_recall", "include_tables", "include_links", "include_formatting"), True
)
_WHOLE_LENGTH = 8_000
"""A page up to this length is read whole; in a longer one only the article is read."""
_MIN_LINKS = 3
_ENTRY_LENGTH = 200
"""Typical length of a list entry: an article is longer than this times its missing titles."""
_STAND_IN = "https://address.invalid/"
_STAND_INS = re.compile(rf"{re.escape(_STAND_IN)}(\d+)/")
_LINE_MARK = "\ue000"
_SPACE_MARK = "\ue001"
_CELL_LENGTH = 200
"""Length from which a table cell may contain lines of its own."""
_BLOCKS = re.findall(
    r"\w+",
    "p div li ul ol dl dt dd tr table section article header footer main nav aside form h1 h2 h3 "
    "h4 h5 h6 br hr pre blockquote figure figcaption option",
)


def main() -> None:
    """Handle one request."""
    _limit_resources()
    request = json.loads(sys.stdin.buffer.readline())
    data = sys.stdin.buffer.read()
    logging.disable(logging.CRITICAL)
    try:
        if request["kind"] == "pdf":
            response = {"title": request["url"].rsplit("/", 1)[-1], "text": extract_pdf(data)}
        else:
            html = decode(data, request["charset"])
            response = extract_html(html, request["url"], whole=request["kind"] == "rendered")
    except ValueError as error:
        response = {"error": str(error)}
    sys.stdout.buffer.write(json.dumps(response).encode())


def _limit_resources() -> None:
    with contextlib.suppress(
        ImportError, ValueError, OSError
    ):  # other platforms only have the timeout
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (_MAX_MEMORY, _MAX_MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (_CPU_SECONDS, _CPU_SECONDS))


def decode(data: bytes, charset: str | None) -> str:
    """Decode bytes with the declared character set, or a detected one."""
    declared = re.search(rb"""<meta[^>]+charset=["']?([\w-]+)""", data[:2048], re.IGNORECASE)
    for name in (charset, declared and declared[1].decode("ascii"), "utf-8"):
        with contextlib.suppress(LookupError, UnicodeDecodeError):
            if name:
                return data.decode(name)
    from charset_normalizer import from_bytes

    best = from_bytes(data[:100_000]).best()
    return data.decode(best.encoding if best else "utf-8", "replace")


def extract_html(html: str, url: str, *, whole: bool = False) -> dict[str, str]:
    """Return the title and the main text of a page as Markdown; all text if it has no main part.

    With `whole`, return all text of a page that is not long, including buttons and prices.
    """
    import lxml.html  # type: ignore[import-untyped]
    from lxml.etree import LxmlError, strip_elements  # type: ignore[import-untyped]

    html = html[:_MAX_HTML].replace("\0", "")
    if "<body" not in html[:100_000].lower() and html.strip():
        # the parser would put elements it does not know (nav, article) into the head
        html = f"<html><body>{html}</body></html>"
    try:
        tree = lxml.html.document_fromstring(html)
        tree.make_links_absolute(url, handle_failures="ignore")
    except (LxmlError, ValueError):
        return {"title": "", "text": ""}
    _remove_page_marks(tree, url)
    title = " ".join((tree.findtext(".//title") or "").split())
    original = deepcopy(tree)
    strip_elements(tree, "script", "style", "noscript", "template", "head", "svg", with_tail=False)
    length = len(" ".join(tree.text_content().split()))
    if whole and length <= _WHOLE_LENGTH:
        return {"title": title, "text": _extract_all(tree, url)}
    article = _extract_article(original, url)
    is_article = len(article) >= _MIN_SHARE * length and not _is_list(article, tree)
    return {"title": title, "text": article if is_article else _extract_all(tree, url)}


def _remove_page_marks(tree: Any, url: str) -> None:
    """Remove links that are marks of a page rather than text: "¶" and "#" to itself, "[edit]"."""
    for link in list(tree.iter("a")):
        is_text = any(map(str.isalnum, link.text_content()))
        if not is_text and _is_same_page(link.get("href"), url) and link.find(".//img") is None:
            link.drop_tree()
    for mark in tree.find_class("mw-editsection"):
        mark.drop_tree()


def _is_same_page(address: str | None, url: str) -> bool:
    return not address or urldefrag(address)[0] == urldefrag(url)[0]


def _extract_article(tree: Any, url: str) -> str:
    """Return the main text of a page as Markdown; empty if it has none. Changes the tree.

    The library would rewrite addresses (`&region=` to `®ion=`), so it is given others for them.
    """
    import trafilatura

    addresses: list[str] = []
    for link in tree.iter("a"):
        if link.get("href"):
            addresses.append(link.get("href"))
            link.set("href", f"{_STAND_IN}{len(addresses) - 1}/")
    article = trafilatura.extract(tree, url=url, output_format="markdown", **_OPTIONS) or ""
    return _STAND_INS.sub(lambda match: addresses[int(match[1])], article).strip()


def _is_list(article: str, tree: Any) -> bool:
    """Return whether an extracted article is a list whose links lost their addresses or names."""
    lines = set(article.split("\n"))
    links = (" ".join(link.text_content().split()) for link in tree.iter("a"))
    if sum(text in lines for text in links if text) >= _MIN_LINKS:
        return True
    titles = tree.xpath("//*[self::h2 or self::h3 or self::h4][.//a or ancestor::a]")
    missing_count = sum(" ".join(title.text_content().split()) not in article for title in titles)
    return missing_count >= _MIN_LINKS and missing_count * _ENTRY_LENGTH > len(article)


def _extract_all(tree: Any, url: str) -> str:
    """Return all text of a page, a line for each block, and links with their addresses."""
    for preformatted in list(tree.iter("pre")):
        _mark_lines(preformatted)
    for element in tree.iter():
        if isinstance(element.tag, str):
            element.text = " ".join((element.text or "").split()) + " "
        element.tail = " " + " ".join((element.tail or "").split())
    for link in list(tree.iter("a")):
        text = " ".join(link.text_content().split()) or link.get("aria-label") or link.get("title")
        address = link.get("href") or ""
        is_web = address.startswith(("http:", "https:", "file:"))
        if text and is_web and not _is_same_page(address, url):
            tail = link.tail
            link.clear()
            link.text = f"[{text}]({address})"
            link.tail = tail
    in_cells = _separate_cells(tree)
    for heading in tree.iter("h1", "h2", "h3", "h4", "h5", "h6"):
        heading.text = f"{'#' * int(heading.tag[1])} {(heading.text or '').lstrip()}"
    for element in tree.iter(*_BLOCKS):
        if element in in_cells:
            continue
        element.text = "\n" + (element.text or "")
        element.tail = "\n" + (element.tail or "")
    block_lines = (" ".join(line.split()) for line in tree.text_content().split("\n"))
    text = "\n".join(line for line in block_lines if line)
    return text.replace(_LINE_MARK, "\n").replace(_SPACE_MARK, " ")


def _mark_lines(preformatted: Any) -> None:
    """Replace the whitespace of preformatted text with marks, so that it is not collapsed."""
    text = preformatted.text_content().strip("\n")
    tail = preformatted.tail
    preformatted.clear()
    preformatted.text = text.replace("\n", _LINE_MARK).replace(" ", _SPACE_MARK)
    preformatted.tail = tail


def _separate_cells(tree: Any) -> set[Any]:
    """Put a bar between the cells of a row; return the elements in cells that become one line each.

    The cells of a table that lays out a page are long, and keep their lines.
    """
    inner_elements: set[Any] = set()
    for cell in tree.iter("td", "th"):
        previous = cell.getprevious()
        if previous is not None and previous.tag in ("td", "th"):
            cell.text = "| " + (cell.text or "")
        if len(cell.text_content()) < _CELL_LENGTH and cell.find(".//table") is None:
            inner_elements.update(cell.iterdescendants())
    return inner_elements


def extract_pdf(data: bytes) -> str:
    """Return the text of a PDF with a heading for each page.

    Raises:
        ValueError: the PDF cannot be read.
    """
    from pypdf import PdfReader
    from pypdf.errors import PyPdfError

    try:
        reader = PdfReader(io.BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            raise ValueError("the PDF needs a password")
        count = len(reader.pages)
        pages = [page.extract_text().strip() for page in reader.pages[:MAX_PDF_PAGES]]
    except (PyPdfError, KeyError, TypeError, IndexError, RecursionError, OSError) as error:
        raise ValueError(f"the PDF cannot be parsed ({type(error).__name__})") from None
    parts = [f"## Page {number}\n\n{text}" for number, text in enumerate(pages, 1) if text]
    if not parts:
        return f"(The PDF has {count} pages without text: they are images.)"
    if count > len(pages):
        parts.append(f"({count - len(pages)} more pages were not read.)")
    return "\n\n".join(parts)


if __name__ == "__main__":
    main()
