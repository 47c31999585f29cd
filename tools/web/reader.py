"""Reading a page without a browser: fetched over HTTP, its main text as Markdown."""

from __future__ import annotations

import asyncio
import codecs
import re
from dataclasses import dataclass

import httpx

from manus.state.errors import ToolError
from manus.tools.web.egress import EgressRefusedError
from manus.tools.web.egress_proxy import EgressProxy
from manus.tools.web.main_text import main_text
from manus.tools.web.pdf_text import pdf_markdown, pdf_pages

_MAX_BYTES = 10 * 1024 * 1024
_MAX_REDIRECTS = 10
_HEADERS = {
    "User-Agent": "Mozilla/5.0 (compatible; manus)",
    "Accept": "text/html,application/xhtml+xml,application/pdf;q=0.9,text/plain;q=0.8,*/*;q=0.5",
    "Accept-Language": "en,*;q=0.5",
}
_TEXT = re.compile(r"(text/|application/(json|xml|[a-z.+-]+\+(json|xml)|javascript))")


@dataclass(frozen=True, slots=True)
class Page:
    """A page that was read. `url` is the one it was found at in the end."""

    url: str
    title: str
    text: str


async def make_client(proxy: EgressProxy, seconds: float) -> httpx.AsyncClient:
    """An HTTP client whose every hop goes through the egress proxy."""

    def make() -> httpx.AsyncClient:
        # in a thread: it reads the machine's list of certificates from the disk
        return httpx.AsyncClient(
            proxy=proxy.url,
            trust_env=False,
            timeout=seconds,
            headers=_HEADERS,
            max_redirects=_MAX_REDIRECTS,
        )

    return await asyncio.to_thread(make)


async def read_page(proxy: EgressProxy, url: str, seconds: float = 20.0) -> Page:
    """Fetch a page and take out its main text.

    Raises:
        ToolError: it is refused by the egress rules, not there, too slow, or not text.
    """
    proxy.rules.check_url(url)
    mark = proxy.count
    try:
        async with asyncio.timeout(seconds), await make_client(proxy, seconds) as client:
            return await _fetch(client, proxy, url)
    except TimeoutError:
        raise ToolError(f"{url} was not read: no full answer within {seconds:g} s.") from None
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        incidents = proxy.since(mark)
        why = incidents[-1].reason if incidents else str(error) or type(error).__name__
        raise ToolError(f"{url} was not read: {why}") from None


async def _fetch(client: httpx.AsyncClient, proxy: EgressProxy, url: str) -> Page:
    for _ in range(_MAX_REDIRECTS):
        async with client.stream("GET", url) as response:
            if response.next_request is None:
                return await _read(response, proxy)
            url = str(response.next_request.url)
        proxy.rules.check_url(url)
    raise ToolError(f"{url} was not read: it redirects without end.")


async def _read(response: httpx.Response, proxy: EgressProxy) -> Page:
    url = str(response.url)
    data = bytearray()
    async for piece in response.aiter_bytes():
        data += piece
        if len(data) > _MAX_BYTES:
            break
    if response.status_code >= 400:
        refused = data.decode("utf-8", "replace")
        if any(i.reason == refused for i in proxy.since(0) if i.refused):
            raise EgressRefusedError(refused)
        raise ToolError(f"{url} was not read: the server answered {response.status_code}.")
    kind = response.headers.get("content-type", "text/html").partition(";")[0].strip().lower()
    return await asyncio.to_thread(_page, url, bytes(data), kind, response.charset_encoding)


def _page(url: str, data: bytes, kind: str, charset: str | None) -> Page:
    if kind == "application/pdf" or data.startswith(b"%PDF-"):
        try:
            return Page(url, url.rsplit("/", 1)[-1], pdf_markdown(*pdf_pages(data)))
        except ValueError as error:
            raise ToolError(f"{url} was not read: {error}.") from None
    if not _TEXT.match(kind) and kind != "application/xhtml+xml":
        raise ToolError(f"{url} was not read: it is {kind or 'of no known type'} and not text.")
    text = _decoded(data, charset)
    if "html" in kind:
        found = main_text(text, url)
        return Page(url, found.title, found.text)
    return Page(url, "", text)


def _decoded(data: bytes, charset: str | None) -> str:
    declared = re.search(rb"""<meta[^>]+charset=["']?([\w-]+)""", data[:2048], re.IGNORECASE)
    names = [charset, declared[1].decode("ascii") if declared else None, "utf-8"]
    for name in names:
        if name is None:
            continue
        try:
            return data.decode(codecs.lookup(name).name)
        except (LookupError, UnicodeDecodeError):
            continue
    return data.decode("utf-8", "replace") if not charset else data.decode("latin-1")
