"""The client of the protocol's SDK, with results as they were sent."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import mcp

from manus.tools.mcp.sdk import Streams


class Client:
    def __init__(self, session: mcp.ClientSession) -> None:
        self._session: Any = session

    async def list_tools(self) -> list[str]:
        return [tool.name for tool in (await self._session.list_tools()).tools]

    async def call_tool(self, name: str, arguments: dict[str, Any], **options: Any) -> Any:
        result = await self._session.call_tool(name, arguments, **options)
        return result.model_dump(mode="json", by_alias=True)


@asynccontextmanager
async def open_client(streams: Streams) -> AsyncIterator[Client]:
    async with mcp.ClientSession(*streams) as session:
        await session.initialize()
        yield Client(session)


def get_text(result: Any) -> str:
    return "\n".join(part["text"] for part in result["content"] if part["type"] == "text")
