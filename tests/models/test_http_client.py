"""The HTTP client of the model servers, over real sockets."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import FrameType
from typing import Any

from openai import Timeout

from manus.models.http_client import build_http_client

REPLY = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"


@asynccontextmanager
async def serve(*, closes: bool) -> AsyncIterator[tuple[str, list[asyncio.StreamWriter]]]:
    """Serve replies, and close each connection after one of them if the server `closes`."""
    writers: list[asyncio.StreamWriter] = []

    async def reply(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        while await reader.readline():
            while (await reader.readline()).strip():
                pass
            writer.write(REPLY)
            if closes:
                break
        writer.close()

    server = await asyncio.start_server(reply, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", writers
        for writer in writers:
            writer.close()
            await writer.wait_closed()


async def test_an_idle_connection_is_reused_without_asking_for_its_addresses() -> None:
    called: list[str] = []

    def watch(_: FrameType, event: str, function: Any) -> None:
        if event == "c_call" and function.__name__ in ("getpeername", "getsockname"):
            called.append(function.__name__)

    async with serve(closes=False) as (url, writers), build_http_client(Timeout(10)) as client:
        await client.get(url)
        sys.setprofile(watch)
        try:
            await client.get(url)
        finally:
            sys.setprofile(None)
    assert (called, len(writers)) == ([], 1)


async def test_a_connection_that_the_server_has_closed_is_not_reused() -> None:
    async with serve(closes=True) as (url, writers), build_http_client(Timeout(10)) as client:
        for count in (1, 2, 3):
            assert (await client.get(url)).text == "ok"
            await writers[-1].wait_closed()
            assert len(writers) == count
