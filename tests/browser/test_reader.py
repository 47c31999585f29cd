"""Reading a page without a browser, and the text extracted from it."""

import asyncio
import gzip
import tracemalloc
from collections.abc import AsyncIterator, Callable

import psutil
import pytest

from manus.config.browser_settings import EgressSettings
from manus.sandbox.egress import EgressRules
from manus.sandbox.egress_proxy import EgressProxy
from manus.state.errors import ToolError
from manus.tools.web.excerpt import excerpt, split_text
from manus.tools.web.parser import decode, extract_html
from manus.tools.web.reader import parse, read_page
from tests.browser.site import Answer, Site
from tests.browser.test_files import pdf

ARTICLE = "<p>" + "The river rose over its banks in the early morning of that day. " * 8 + "</p>"


@pytest.fixture
async def proxy(site: Site) -> AsyncIterator[EgressProxy]:
    """Provide a proxy that allows only the one site."""
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
    assert f"[more]({site.base}/more)" in page.text
    assert "Menu" not in page.text


async def test_redirects_are_followed_and_checked(
    proxy: EgressProxy, site: Site, new_site: Callable[..., Site], subtests: pytest.Subtests
) -> None:
    inner = new_site()
    site.pages["/a"] = Answer("", 302, headers={"Location": "/b"})
    site.pages["/b"] = Answer("plain", type="text/plain")
    assert (await read_page(proxy, f"{site.base}/a")).url == f"{site.base}/b"
    for place, why in (
        (inner.base, "egress"),
        ("file:///etc/passwd", "unsupported protocol"),
        ("/c", "too many redirects"),
    ):
        with subtests.test(place=place):
            site.pages["/c"] = Answer("", 302, headers={"Location": place})
            with pytest.raises(ToolError, match=why):
                await read_page(proxy, f"{site.base}/c")
    with pytest.raises(ToolError, match="egress rules"):  # the proxy gets its plain form
        await read_page(proxy, "http://127。0。0。1/")
    assert inner.requests == []


UNREADABLE = {
    "returned 404": Answer("no", 404),
    "image/png": Answer(b"\x00\x01", type="image/png"),
    "PDF cannot be parsed": Answer(b"%PDF-1.4 x", type="application/pdf"),
    "`br` was not requested": Answer(b"x", headers={"Content-Encoding": "br"}),
    "Cannot read": Answer(b"not gzip", headers={"Content-Encoding": "gzip"}),
    "no complete response within": Answer("drip", trickle=True),
}
KINDS = [
    ("Grüße".encode("latin-1"), "text/plain; charset=latin-1", "Grüße"),
    ("Grüße".encode(), "text/plain", "Grüße"),
    (pdf("Inside a PDF"), "application/pdf", "## Page 1\n\nInside a PDF"),
]


async def test_kinds_of_pages_and_unreadable_ones(
    proxy: EgressProxy, site: Site, subtests: pytest.Subtests
) -> None:
    for message, answer in UNREADABLE.items():
        with subtests.test(message=message):
            site.pages["/"] = answer
            with pytest.raises(ToolError, match=message):
                await read_page(proxy, f"{site.base}/", 0.3 if "within" in message else 20.0)
    for data, kind, text in KINDS:
        with subtests.test(data=data, kind=kind):
            site.pages["/"] = Answer(data, type=kind)
            assert (await read_page(proxy, site.base)).text == text


async def test_the_decompressed_size_is_limited(proxy: EgressProxy, site: Site) -> None:
    bomb = gzip.compress(b"x" * 300_000_000, 1)
    site.pages["/bomb"] = Answer(bomb, type="text/plain", headers={"Content-Encoding": "gzip"})
    tracemalloc.start()
    try:
        page = await read_page(proxy, f"{site.base}/bomb")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(page.text) == 10 * 1024 * 1024
    assert peak < 150_000_000
    site.pages["/huge"] = Answer(b"%PDF" + b" " * 53_000_000, type="application/pdf")
    with pytest.raises(ToolError, match="larger than 50 MB"):
        await read_page(proxy, f"{site.base}/huge")


def test_pages_that_are_not_articles() -> None:
    lamps = "".join(f"<div><a href=/{n}><h3>Lamp {n}</h3></a> <b>{n} €</b></div>" for n in range(5))
    text = extract_html(f"<h1>Lamps</h1>{lamps}", "http://x.test/")["text"]
    assert "[Lamp 3](http://x.test/3) 3 €\n" in text
    assert extract_html("\0" + "<div>" * 10_000, "http://x.test/")["text"] == ""
    assert "日本語" in decode("<meta charset=shift_jis><p>日本語</p>".encode("shift_jis"), None)


LINKS = {
    "next.html": "https://x.example/a/b/next.html",
    "../up.html": "https://x.example/a/up.html",
    "/top?a=1&region=2&copy=3#part": "https://x.example/top?a=1&region=2&copy=3#part",
    "?page=2": "https://x.example/a/b/page.html?page=2",
    "//other.example/p": "https://other.example/p",
    "q?a=1&amp;b=(c)": "https://x.example/a/b/q?a=1&b=(c)",
}


@pytest.mark.parametrize("words", [4, 400])
def test_addresses_of_links_are_those_that_a_browser_follows(words: int) -> None:
    """In an article and in a page that is read whole."""
    links = " ".join(f'<a href="{href}">{n} of the links</a>' for n, href in enumerate(LINKS))
    page = f"""<html><body><article><h2>Head<a class=headerlink href="#h">¶</a></h2>
        <h3>Sub<span class="mw-editsection">[<a href="/edit">edit</a>]</span></h3>
        <p>{"Some words of text. " * words}{links}</p></article></body></html>"""
    text = extract_html(page, "https://x.example/a/b/page.html", whole=words < 10)["text"]
    for n, address in enumerate(LINKS.values()):
        assert f"[{n} of the links]({address})" in text
    assert "¶" not in text
    assert "edit" not in text
    based = page.replace("<body>", '<head><base href="https://y.example/z/"></head><body>')
    assert "(https://y.example/z/next.html)" in extract_html(based, "https://x.example/a")["text"]


async def test_reading_is_aborted_when_it_takes_too_long() -> None:
    before = set(psutil.Process().children())
    slow = b"<p>" + b"<a href=/x>word</a> and <b>more</b> " * 100_000
    reading = asyncio.ensure_future(parse("html", "http://x.test/", slow))
    async with asyncio.timeout(60):
        while not (children := set(psutil.Process().children()) - before):
            await asyncio.sleep(0.01)
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    assert not any(process.is_running() for process in children)


WANTED = {
    "the password of staging is hunter2": "what is the password for the staging server",
    "tests were failing there": "failed test",
    "le mot de passe: café noir": "MOT DE PASSE cafe",
    "数据库的密码在这里": "数据库密码",
}


def test_an_excerpt_keeps_order_and_limit(subtests: pytest.Subtests) -> None:
    around = "what the weather is for the day, and what the other one is for. " * 100
    for needle, query in WANTED.items():  # where most of the words are
        with subtests.test(needle=needle, query=query):
            output = excerpt(around + needle + around, query, 300)
            assert needle in output
            assert len(output) <= 400
    parts = [f"## Part {n}\n\n" + f"filler words {n} " * 40 for n in range(50)]
    parts[7] += " the walrus sleeps"
    parts[31] += " a walrus wakes"
    text = "\n\n".join(parts)
    cut = excerpt(text, "What does the walrus do?", 3_000)
    assert len(cut) <= 3_000
    assert cut.index("walrus sleeps") < cut.index("walrus wakes")
    assert "[…]" in cut
    assert excerpt("short", "goal", 3_000) == "short"
    text = "\n\n".join(f"Paragraph {n} " + "word " * 50 for n in range(100))
    pieces = split_text(text, 2_000)
    assert all(len(piece) <= 2_000 for piece in pieces)
    assert "".join(pieces) == text
