"""Reading a page without a browser, and what is made of its text."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Callable

import pytest

from manus.state.browser_settings import EgressSettings
from manus.state.errors import ToolError
from manus.tools.browser.reading import split_pages
from manus.tools.web.egress import EgressRules
from manus.tools.web.egress_proxy import EgressProxy
from manus.tools.web.main_text import main_text
from manus.tools.web.reader import read_page
from manus.tools.web.relevance import cut_by_relevance, terms
from tests.browser.site import Answer, Site
from tests.browser.test_files import pdf

ARTICLE = "<p>" + "The river rose over its banks in the early morning of that day. " * 8 + "</p>"


@pytest.fixture
async def proxy(site: Site) -> AsyncIterator[EgressProxy]:
    """Lets through to the one site only."""
    allowed = EgressSettings(allow_private=(site.place,))
    proxy = await EgressProxy.start(EgressRules(allowed))
    yield proxy
    await proxy.close()


async def test_a_page_is_read(proxy: EgressProxy, site: Site) -> None:
    site.pages["/"] = f"""<title>Flood</title><nav><a href=/a>Menu</a></nav><article>
      <h1>The flood</h1>{ARTICLE * 3}<p>See <a href=/more>more</a>.</p></article>"""
    page = await read_page(proxy, site.base)
    assert page.title == "Flood"
    assert "# The flood" in page.text
    assert "rose over its banks" in page.text
    assert "Menu" not in page.text


async def test_redirects_are_followed_and_checked(
    proxy: EgressProxy, site: Site, new_site: Callable[..., Site]
) -> None:
    inner = new_site()
    site.pages["/a"] = Answer("", 302, headers={"Location": "/b"})
    site.pages["/b"] = Answer("plain", type="text/plain")
    assert (await read_page(proxy, f"{site.base}/a")).url == f"{site.base}/b"
    site.pages["/c"] = Answer("", 302, headers={"Location": inner.base})
    with pytest.raises(ToolError, match="refused by the egress rules"):
        await read_page(proxy, f"{site.base}/c")
    site.pages["/d"] = Answer("", 302, headers={"Location": "file:///etc/passwd"})
    with pytest.raises(ToolError, match="only http and https"):
        await read_page(proxy, f"{site.base}/d")
    site.pages["/e"] = Answer("", 302, headers={"Location": "/e"})
    with pytest.raises(ToolError, match="redirects without end"):
        await read_page(proxy, f"{site.base}/e")
    assert inner.requests == []


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (Answer("no", 404), "the server answered 404"),
        (Answer(b"\x00\x01", type="image/png"), "it is image/png and not text"),
        (Answer(b"%PDF-1.4 x", type="application/pdf"), "the PDF cannot be read"),
        (Answer("late", hold=threading.Event()), "no full answer within 1 s"),
        (Answer("drip", trickle=True), "no full answer within 1 s"),
    ],
)
async def test_what_cannot_be_read_says_why(
    proxy: EgressProxy, site: Site, answer: Answer, said: str
) -> None:
    site.pages["/"] = answer
    with pytest.raises(ToolError, match=said):
        await read_page(proxy, f"{site.base}/", 1.0)


async def test_nobody_there(proxy: EgressProxy, site: Site) -> None:
    base = site.base
    site.close()
    with pytest.raises(ToolError, match="was not read"):
        await read_page(proxy, base)
    site.__init__()  # type: ignore[misc]


@pytest.mark.parametrize(
    ("data", "kind", "text"),
    [
        ("Grüße".encode("latin-1"), "text/plain; charset=latin-1", "Grüße"),
        ("Grüße".encode(), "text/plain", "Grüße"),
        ("<meta charset=shift_jis><p>日本語</p>".encode("shift_jis"), "text/html", "日本語"),
        ("<p>日本語</p>".encode(), "text/html; charset=nonsense", "日本語"),
        (b'{"a": 1}', "application/json", '{"a": 1}'),
        (pdf("Inside a PDF"), "application/pdf", "## Page 1\n\nInside a PDF"),
        (b"", "text/html", ""),
    ],
)
async def test_kinds_and_character_sets(
    proxy: EgressProxy, site: Site, data: bytes, kind: str, text: str
) -> None:
    site.pages["/"] = Answer(data, type=kind)
    assert (await read_page(proxy, site.base)).text == text


def test_a_list_or_a_table_is_not_taken_for_boilerplate() -> None:
    rows = "".join(f"<tr><td>{n}</td><td>Town {n}</td></tr>" for n in range(50))
    text = main_text(
        f"<h2>Towns</h2><table>{rows}</table><script>x</script>", "http://x.test/"
    ).text
    assert "| 1 | Town 1 |" in text
    assert "Town 49" in text


def test_links_are_made_absolute_and_the_hidden_left_out() -> None:
    html = "<p>A <a href='/b'>link</a>.</p><p hidden>no</p><p style='display: none'>nor this</p>"
    assert main_text(html, "http://x.test/y/").text == "A [link](http://x.test/b)."


@pytest.mark.parametrize("html", ["", "   ", "<", "\x00", "<html>", "<p>" * 5000])
def test_what_is_hardly_html(html: str) -> None:
    assert main_text(html, "http://x.test/").text in ("", "<")


def test_relevance_keeps_order_and_limit() -> None:
    parts = [f"## Part {n}\n\n" + f"filler words {n} " * 40 for n in range(50)]
    parts[7] += " the walrus sleeps"
    parts[31] += " a walrus wakes"
    text = "\n\n".join(parts)
    cut = cut_by_relevance(text, "What does the walrus do?", 3_000)
    assert len(cut) <= 3_000
    assert cut.index("walrus sleeps") < cut.index("walrus wakes")
    assert "characters …]" in cut
    assert cut_by_relevance("short", "goal", 3_000) == "short"
    assert cut_by_relevance(text, "zebra", 3_000).startswith("## Part 0")


def test_relevance_of_texts_without_spaces() -> None:
    text = "\n\n".join(["これは関係のない文章です。" * 60] * 10 + ["東京の人口は千四百万人です。"])
    assert "千四百万人" in cut_by_relevance(text, "東京の人口", 1_000)
    assert terms("Towns 東京都") == ["town", "東京", "京都"]


def test_one_endless_line_is_cut_too() -> None:
    assert len(cut_by_relevance("x" * 100_000, "y", 2_000)) <= 2_000


def test_pages_lose_nothing() -> None:
    text = "\n\n".join(f"Paragraph {n} " + "word " * 50 for n in range(100))
    pages = split_pages(text, 2_000)
    assert all(len(page) <= 2_000 for page in pages)
    assert "".join("".join(pages).split()) == "".join(text.split())
