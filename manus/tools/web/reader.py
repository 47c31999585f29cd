"""Reading a page without a browser: fetched over HTTP, its main text as Markdown."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import tempfile
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import IO, Any, NamedTuple

import httpx

from manus.execution.network.egress_proxy import EgressProxy
from manus.execution.process import scrubbed
from manus.execution.sandbox.interpreter import own_python
from manus.state.errors import ToolError
from manus.tools.web.parser import decoded

_MEGABYTE = 1024 * 1024
_MAX_MEGABYTES = 10
_MAX_PDF_MEGABYTES = 50
_MAX_REDIRECTS = 10
_PARSE_SECONDS = 30.0
_HEADERS = {
    "User-Agent": "Mozilla/5.0 (compatible; manus)",
    "Accept": "text/html,application/xhtml+xml,application/pdf;q=0.9,text/plain;q=0.8,*/*;q=0.5",
    "Accept-Encoding": "gzip, deflate",
    "Accept-Language": "en,*;q=0.5",
}
_PDF = "application/pdf"
_TEXT = re.compile(r"(text/|application/(json|xml|[a-z.+-]+\+(json|xml)|javascript))")
_PARSER = Path(__file__).with_name("parser.py")


class Answer(NamedTuple):
    """What a server has sent. `url` is where it was found in the end."""

    url: str
    kind: str
    charset: str | None
    data: bytes


class Page(NamedTuple):
    """A page that was read. `url` is the one it was found at in the end."""

    url: str
    title: str
    text: str


async def fetch(
    proxy: EgressProxy,
    method: str,
    url: str,
    seconds: float,
    *,
    redirects: int = 0,
    cookies: Mapping[str, str] | None = None,
    **request: Any,
) -> Answer:
    """The answer to a request, each hop of which goes through the egress proxy.

    Raises:
        ToolError: it was refused, not reached, did not come in time, is an error or too large.
    """
    mark = proxy.incidents.count
    # in a thread: it reads the machine's list of certificates from the disk
    make = partial(httpx.AsyncClient, proxy=proxy.url, trust_env=False, headers=_HEADERS)
    try:
        client = await asyncio.to_thread(make, timeout=seconds)
        async with asyncio.timeout(seconds), client:
            for name, value in (cookies or {}).items():
                client.cookies.set(name, value, domain=httpx.URL(url).host)
            for _ in range(redirects + 1):
                async with client.stream(method, url, **request) as response:
                    if not redirects or response.next_request is None:
                        return await _read(response)
                    url = str(response.next_request.url)
            raise ToolError("it redirects without end")
    except TimeoutError:
        raise ToolError(f"no full answer within {seconds:g} s") from None
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        # what the proxy did not reach it answers itself; other pages may be fetched meanwhile
        host = "" if isinstance(error, httpx.InvalidURL) else httpx.URL(url).raw_host.decode()
        incidents = [one for one in proxy.incidents.since(mark) if host and host in one.host]
        why = incidents[-1].reason if incidents else str(error) or type(error).__name__
        raise ToolError(why) from None


async def _read(response: httpx.Response) -> Answer:
    """The body of a streamed answer, of a text that is too large the beginning.

    The bytes are counted as they are decompressed: a few kilobytes can hold gigabytes. What is
    read at once is at most 64 kB, from which gzip makes at most a thousand times as much.
    """
    if response.is_error:
        status = f"{response.status_code} {response.reason_phrase}".rstrip()
        said = f"the server answered {status}"
        raise httpx.HTTPStatusError(said, request=response.request, response=response)
    coding = response.headers.get("content-encoding", "").strip().lower()
    if coding not in {"", "identity", "gzip", "deflate"}:  # these may hold any amount
        raise ToolError(f"its encoding `{coding}` was not asked for")
    kind = response.headers.get("content-type", "text/html").partition(";")[0].strip().lower()
    megabytes = _MAX_PDF_MEGABYTES if kind == _PDF else _MAX_MEGABYTES
    data = bytearray()
    async for piece in response.aiter_bytes():
        data += piece
        if len(data) > megabytes * _MEGABYTE:
            if kind == _PDF:
                raise ToolError(f"the PDF is larger than {megabytes} MB; download it and cut it")
            break
    body = bytes(data[: megabytes * _MEGABYTE])
    return Answer(str(response.url), kind, response.charset_encoding, body)


async def read_page(
    proxy: EgressProxy, url: str, seconds: float = 20.0, cookies: Mapping[str, str] | None = None
) -> Page:
    """Fetch a page and take out its main text. `cookies` go to the first host only.

    Raises:
        ToolError: it was refused, cannot be fetched in time, or is not text.
    """
    try:
        found, kind, charset, data = await fetch(
            proxy, "GET", url, seconds, redirects=_MAX_REDIRECTS, cookies=cookies
        )
        if kind == _PDF:
            return await parse("pdf", found, data)
        if not _TEXT.match(kind):
            raise ToolError(f"it is {kind or 'of no known type'} and not text")
        if "html" in kind:
            return await parse("html", found, data, charset)
        return Page(found, "", decoded(data, charset))
    except ToolError as error:
        raise ToolError(f"{url} was not read: {str(error).rstrip('.')}.") from None


async def parse(kind: str, url: str, data: bytes, charset: str | None = None) -> Page:
    """The text of a page (`html`) or a PDF (`pdf`), read by a process that can be ended.

    Raises:
        ToolError: it cannot be read, or only with more time or memory than it is given.
    """
    question = json.dumps({"kind": kind, "url": url, "charset": charset}).encode()
    said = await _parsed(question + b"\n" + data)
    answer = json.loads(said or '{"error": "the page takes too much time or memory"}')
    if "error" in answer:
        raise ToolError(answer["error"])
    return Page(url, answer["title"], answer["text"])


async def _parsed(question: bytes) -> bytes:
    """Return what the parser prints for its input; nothing if its time was up.

    It reads and writes files, not asyncio's pipes: if the event loop is closed while asyncio
    connects those, the start of a process waits for them forever.
    """
    with (
        await asyncio.to_thread(tempfile.TemporaryFile) as given,
        await asyncio.to_thread(tempfile.TemporaryFile) as printed,
    ):
        await asyncio.to_thread(_fill, given, question)
        process = await asyncio.create_subprocess_exec(
            await asyncio.to_thread(own_python),
            "-P",  # nothing is imported from the folder of this file
            str(_PARSER),
            stdin=given,
            stdout=printed,
            stderr=asyncio.subprocess.DEVNULL,
            env=scrubbed(os.environ),
        )
        try:
            async with asyncio.timeout(_PARSE_SECONDS):
                await process.wait()
        except TimeoutError:
            return b""
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
        return await asyncio.to_thread(_content, printed)


def _fill(file: IO[bytes], data: bytes) -> None:
    file.write(data)
    file.seek(0)


def _content(file: IO[bytes]) -> bytes:
    file.seek(0)
    return file.read()
