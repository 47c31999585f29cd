"""Read a page without a browser: fetch it over HTTP and return its main text as Markdown."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import tempfile
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import IO, Any, NamedTuple

import httpx

from manus.sandbox.egress_proxy import EgressProxy
from manus.sandbox.interpreter import get_own_python
from manus.sandbox.process import build_host_environment
from manus.state.errors import ToolError
from manus.tools.web.parser import decode

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


class Response(NamedTuple):
    """The response of a server. `url` is the address after redirects."""

    url: str
    kind: str
    charset: str | None
    data: bytes


class Page(NamedTuple):
    """The text of a page. `url` is the address after redirects."""

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
) -> Response:
    """Send a request through the egress proxy, redirects included, and return the response.

    Raises:
        ToolError: refused by a rule, unreachable, timed out, an HTTP error, or too large.
    """
    mark = proxy.incidents.count
    # in a thread, because it reads certificates from the disk
    create_client = partial(httpx.AsyncClient, proxy=proxy.url, trust_env=False, headers=_HEADERS)
    try:
        client = await asyncio.to_thread(create_client, timeout=seconds)
        async with asyncio.timeout(seconds), client:
            for name, value in (cookies or {}).items():
                client.cookies.set(name, value, domain=httpx.URL(url).host)
            for _ in range(redirects + 1):
                async with client.stream(method, url, **request) as response:
                    if not redirects or response.next_request is None:
                        return await _read(response)
                    url = str(response.next_request.url)
            raise ToolError("too many redirects")
    except TimeoutError:
        raise ToolError(f"no complete response within {seconds:g} s") from None
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        # the proxy responds for unreachable hosts; other pages may be fetched at the same time
        host = "" if isinstance(error, httpx.InvalidURL) else httpx.URL(url).raw_host.decode()
        incidents = [
            incident for incident in proxy.incidents.since(mark) if host and host in incident.host
        ]
        reason = incidents[-1].reason if incidents else str(error) or type(error).__name__
        raise ToolError(reason) from None


async def _read(response: httpx.Response) -> Response:
    """Read the body of a streamed response; only the beginning of a text that is too large.

    Decompressed bytes are counted, as protection against decompression bombs. A chunk is at most
    64 kB, which gzip expands at most a thousand times.
    """
    if response.is_error:
        status = f"{response.status_code} {response.reason_phrase}".rstrip()
        message = f"the server returned {status}"
        raise httpx.HTTPStatusError(message, request=response.request, response=response)
    coding = response.headers.get("content-encoding", "").strip().lower()
    if coding not in {"", "identity", "gzip", "deflate"}:  # others have no bounded expansion
        raise ToolError(f"its encoding `{coding}` was not requested")
    kind = response.headers.get("content-type", "text/html").partition(";")[0].strip().lower()
    megabytes = _MAX_PDF_MEGABYTES if kind == _PDF else _MAX_MEGABYTES
    data = bytearray()
    async for chunk in response.aiter_bytes():
        data += chunk
        if len(data) > megabytes * _MEGABYTE:
            if kind == _PDF:
                raise ToolError(f"the PDF is larger than {megabytes} MB; download it and split it")
            break
    body = bytes(data[: megabytes * _MEGABYTE])
    return Response(str(response.url), kind, response.charset_encoding, body)


async def read_page(
    proxy: EgressProxy, url: str, seconds: float = 20.0, cookies: Mapping[str, str] | None = None
) -> Page:
    """Fetch a page and extract its main text. `cookies` are sent to the first host only.

    Raises:
        ToolError: refused by a rule, not fetched in time, or not text.
    """
    try:
        final_url, kind, charset, data = await fetch(
            proxy, "GET", url, seconds, redirects=_MAX_REDIRECTS, cookies=cookies
        )
        if kind == _PDF:
            return await parse("pdf", final_url, data)
        if not _TEXT.match(kind):
            raise ToolError(f"it is {kind or 'of unknown type'}, not text")
        if "html" in kind:
            return await parse("html", final_url, data, charset)
        return Page(final_url, "", decode(data, charset))
    except ToolError as error:
        raise ToolError(f"Cannot read {url}: {str(error).rstrip('.')}.") from None


async def parse(kind: str, url: str, data: bytes, charset: str | None = None) -> Page:
    """Extract the text of a page (`html`) or a PDF (`pdf`) in a process that can be killed.

    A page that a browser shows (`rendered`) is read completely if it is not long.

    Raises:
        ToolError: it cannot be parsed within the limits of time and memory, or at all.
    """
    request = json.dumps({"kind": kind, "url": url, "charset": charset}).encode()
    output = await _run_parser(request + b"\n" + data)
    response = json.loads(output or '{"error": "the page takes too much time or memory"}')
    if "error" in response:
        raise ToolError(response["error"])
    return Page(url, response["title"], response["text"])


async def _run_parser(request: bytes) -> bytes:
    """Return the output of the parser for a request; empty after a timeout.

    The parser reads and writes files rather than asyncio's pipes: if the event loop is closed while
    asyncio connects those, starting the process waits for them forever.
    """
    with (
        await asyncio.to_thread(tempfile.TemporaryFile) as input_file,
        await asyncio.to_thread(tempfile.TemporaryFile) as output_file,
    ):
        await asyncio.to_thread(_write_input, input_file, request)
        process = await asyncio.create_subprocess_exec(
            await asyncio.to_thread(get_own_python),
            "-P",  # do not import modules from the folder of this file
            str(_PARSER),
            stdin=input_file,
            stdout=output_file,
            stderr=asyncio.subprocess.DEVNULL,
            env=await asyncio.to_thread(build_host_environment),
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
        return await asyncio.to_thread(_read_output, output_file)


def _write_input(file: IO[bytes], data: bytes) -> None:
    file.write(data)
    file.seek(0)


def _read_output(file: IO[bytes]) -> bytes:
    file.seek(0)
    return file.read()
