"""Reading a page without a browser: fetched over HTTP, its main text as Markdown."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import httpx

from manus.state.errors import ToolError
from manus.tools.shell.process import scrubbed
from manus.tools.web.egress_proxy import EgressProxy

MEGABYTE = 1024 * 1024
_MAX_BYTES = 10 * MEGABYTE
_MAX_PDF_MEGABYTES = 50
_MAX_REDIRECTS = 10
_PARSE_SECONDS = 30.0
_HEADERS = {
    "User-Agent": "Mozilla/5.0 (compatible; manus)",
    "Accept": "text/html,application/xhtml+xml,application/pdf;q=0.9,text/plain;q=0.8,*/*;q=0.5",
    "Accept-Encoding": "gzip, deflate",
    "Accept-Language": "en,*;q=0.5",
}
_TEXT = re.compile(r"(text/|application/(json|xml|[a-z.+-]+\+(json|xml)|javascript))")
_PARSER = Path(__file__).with_name("parser.py")


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
            proxy=proxy.url, trust_env=False, timeout=seconds, headers=_HEADERS
        )

    return await asyncio.to_thread(make)


async def read_body(response: httpx.Response, limit: int) -> tuple[bytes, bool]:
    """The body of a streamed answer, and whether it ended within `limit` bytes.

    The bytes are counted as they are decompressed: a few kilobytes can hold gigabytes. What is
    read at once is at most 64 kB, from which gzip makes at most a thousand times as much.

    Raises:
        ToolError: it is compressed in a way that was not asked for, and that may hold any amount.
    """
    coding = response.headers.get("content-encoding", "").strip().lower()
    if coding not in {"", "identity", "gzip", "deflate"}:
        raise ToolError(f"{response.url} was not read: its encoding `{coding}` was not asked for.")
    data = bytearray()
    async for piece in response.aiter_bytes():
        data += piece
        if len(data) > limit:
            return bytes(data[:limit]), False
    return bytes(data), True


async def read_page(
    proxy: EgressProxy, url: str, seconds: float = 20.0, cookies: Mapping[str, str] | None = None
) -> Page:
    """Fetch a page and take out its main text. `cookies` go to the first host only.

    Raises:
        ToolError: it is refused by the egress rules, not there, too large, too slow, or not text.
    """
    proxy.rules.check_url(url)
    mark = proxy.count
    try:
        async with asyncio.timeout(seconds), await make_client(proxy, seconds) as client:
            for name, value in (cookies or {}).items():
                client.cookies.set(name, value, domain=httpx.URL(url).host)
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
    kind = response.headers.get("content-type", "text/html").partition(";")[0].strip().lower()
    is_pdf = kind == "application/pdf"
    limit = _MAX_PDF_MEGABYTES * MEGABYTE if is_pdf else _MAX_BYTES
    data, whole = await read_body(response, limit)
    if response.status_code >= 400:
        proxy.raise_if_ours(data)
        raise ToolError(f"{url} was not read: the server answered {response.status_code}.")
    if is_pdf:
        if not whole:
            raise ToolError(
                f"{url} was not read: the PDF is larger than {_MAX_PDF_MEGABYTES} MB; download it "
                "and take what is needed out of it with a program."
            )
        return await parse("pdf", url, data)
    if not _TEXT.match(kind):
        raise ToolError(f"{url} was not read: it is {kind or 'of no known type'} and not text.")
    if "html" in kind:
        return await parse("html", url, data, response.charset_encoding)
    from manus.tools.web.parser import decoded

    return Page(url, "", decoded(data, response.charset_encoding))


async def parse(kind: str, url: str, data: bytes, charset: str | None = None) -> Page:
    """The text of a page (`html`) or a PDF (`pdf`), read by a process that can be ended.

    Raises:
        ToolError: it cannot be read, or only with more time or memory than it is given.
    """
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-P",  # nothing is imported from the folder of this file
        str(_PARSER),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env=scrubbed(os.environ),
    )
    question = json.dumps({"kind": kind, "url": url, "charset": charset}).encode()
    try:
        async with asyncio.timeout(_PARSE_SECONDS):
            said, _ = await process.communicate(question + b"\n" + data)
    except TimeoutError:
        said = b""
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
    if not said:
        raise ToolError(f"{url} was not read: it takes too much time or memory.")
    answer = json.loads(said)
    if "error" in answer:
        raise ToolError(f"{url} was not read: {answer['error']}.")
    return Page(url, answer["title"], answer["text"])
