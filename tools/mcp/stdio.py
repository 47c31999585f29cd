"""Messages of the protocol to and from the other side; over two pipes, one message a line."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp.types import JSONRPCMessage
from pydantic import ValidationError

log = logging.getLogger("manus")

LARGEST = 100_000_000
"""Bytes of a message; who sends more is taken for broken."""
_CHUNK = 2**18
_LONG = 2**18
"""Bytes of a message from which on it is read in a thread."""

Inbox = MemoryObjectReceiveStream[SessionMessage | Exception]
Outbox = MemoryObjectSendStream[SessionMessage]


@dataclass(frozen=True, slots=True)
class Wire:
    """A connection: what comes, what goes, and its end."""

    read: Inbox
    write: Outbox
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    """The other side has gone; not set by every transport."""
    last_words: Callable[[], str] = str
    """What the other side has said besides its messages, in a line, when it failed."""


@asynccontextmanager
async def over_pipes(reading: int, writing: int) -> AsyncIterator[Wire]:
    """A connection over two descriptors, which belong to it and are closed with it."""
    loop = asyncio.get_running_loop()
    reader, unused = asyncio.StreamReader(), asyncio.StreamReader()
    source, _ = await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(reading, "rb", 0)
    )
    sink, protocol = await loop.connect_write_pipe(
        lambda: asyncio.StreamReaderProtocol(unused), os.fdopen(writing, "wb", 0)
    )
    writer = asyncio.StreamWriter(sink, protocol, None, loop)
    to_us, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    write, from_us = anyio.create_memory_object_stream[SessionMessage](0)
    wire = Wire(read, write)
    try:
        async with anyio.create_task_group() as tasks, read, write:
            tasks.start_soon(_receive, reader, to_us, wire.ended)
            tasks.start_soon(_send, from_us, writer)
            yield wire
            tasks.cancel_scope.cancel()
    finally:
        source.close()
        if not sink.is_closing():
            sink.abort()


async def _receive(
    reader: asyncio.StreamReader,
    inbox: MemoryObjectSendStream[SessionMessage | Exception],
    ended: asyncio.Event,
) -> None:
    try:
        async with inbox:
            async for line in _lines(reader):
                if (message := await _read(line)) is not None:
                    await inbox.send(SessionMessage(message))
    except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
        log.debug("nobody reads any more what an MCP connection brings")
    finally:
        ended.set()


async def _lines(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    """Whole lines; each byte is moved once, however long a line is."""
    pieces: list[bytes] = []
    size = 0
    while data := await reader.read(_CHUNK):
        *ended, rest = data.split(b"\n")
        for end in ended:
            yield b"".join([*pieces, end])
            pieces, size = [], 0
        pieces.append(rest)
        size += len(rest)
        if size > LARGEST:
            log.warning("an MCP message of more than %s bytes ends the connection", f"{LARGEST:,}")
            return


async def _read(line: bytes) -> JSONRPCMessage | None:
    """The message of a line, or None: some programs print other things among their messages."""
    if not line.strip():
        return None
    try:
        if len(line) > _LONG:
            return await asyncio.to_thread(JSONRPCMessage.model_validate_json, line)
        return JSONRPCMessage.model_validate_json(line)
    except ValidationError:
        log.info("a line on an MCP connection is no message: %.200r", line)
        return None


async def _send(
    outbox: MemoryObjectReceiveStream[SessionMessage], writer: asyncio.StreamWriter
) -> None:
    async with outbox:
        async for item in outbox:
            text = item.message.model_dump_json(by_alias=True, exclude_none=True)
            try:
                writer.write(text.encode() + b"\n")
                await writer.drain()
            except OSError:  # nobody is there any more: the end of the other pipe says so too
                return
