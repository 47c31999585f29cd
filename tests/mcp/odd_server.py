"""A real MCP server (the protocol's Python SDK) with typical faults.

`python odd_server.py stdio | http [PORT] | sse [PORT]`; over HTTP, the first line that it prints
is its port. With TOKEN in the environment it requires that as a bearer token.
"""

# mypy: disable-error-code="untyped-decorator"

import os
import socket
import sys
import threading
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import uvicorn
from mcp.types import SamplingMessage, TextContent, ToolAnnotations
from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

IS_FIRST = version("mcp").startswith("1.")
SDK: Any = import_module("mcp.server.fastmcp" if IS_FIRST else "mcp.server.mcpserver")
FastMCP: Any = SDK.FastMCP if IS_FIRST else SDK.MCPServer
if TYPE_CHECKING:
    Context: TypeAlias = Any
    Image: TypeAlias = Any
else:
    Context, Image = SDK.Context, SDK.Image

PIXEL = b"\x89PNG\r\n\x1a\n"
mcp = FastMCP("odd")


@mcp.tool(annotations=ToolAnnotations.model_validate({"readOnlyHint": True}))
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@mcp.tool()
def note(line: str) -> str:
    """Append a line to the file `noted` where the server runs."""
    with Path("noted").open("a") as file:
        file.write(line + "\n")
    return "noted"


@mcp.tool()
def note_and_die(line: str) -> str:
    """Have an effect, and exit before reporting it."""
    note(line)
    os._exit(7)


@mcp.tool()
def freeze() -> str:
    """Stop responding."""
    threading.Event().wait()
    return "never"


@mcp.tool()
def note_and_freeze(line: str) -> str:
    """Have an effect, and never report it."""
    note(line)
    threading.Event().wait()
    return "never"


@mcp.tool()
def fail() -> str:
    """Raise an error."""
    raise import_module(f"{SDK.__name__}.exceptions").ToolError("the tide is out")


@mcp.tool()
def picture() -> Image:
    """Return an image."""
    return Image(data=PIXEL, format="png")


class Colour(BaseModel):
    colour: str


@mcp.tool()
async def paint(context: Context) -> str:
    """Paint in a color that the user chooses."""
    answer = await context.elicit("Which\ncolour?", Colour)
    return f"painted, {answer.action}"


@mcp.tool()
async def bake(context: Context) -> str:
    """Bake in two stages."""
    await context.report_progress(1, 2, "The dough rises.")
    await context.report_progress(2, 2)
    return "baked"


@mcp.tool()
async def think(context: Context) -> str:
    """Let the client's model think."""
    request = SamplingMessage(role="user", content=TextContent(type="text", text="Think."))
    return str(await context.session.create_message([request], max_tokens=10))


@mcp.tool()
async def grow(context: Context) -> str:
    """Add a tool, and announce it."""
    mcp.add_tool(lambda: "grown", name="grown", description="New.")
    await context.session.send_tool_list_changed()
    return "there is one more"


def guarded(app: ASGIApp, token: str) -> ASGIApp:
    """Reject requests without the bearer token."""

    async def guard(scope: Scope, receive: Receive, send: Send) -> None:
        authorization = (
            Request(scope).headers.get("authorization") if scope["type"] == "http" else None
        )
        bears = scope["type"] != "http" or authorization == f"Bearer {token}"
        await (app if bears else PlainTextResponse("no", 401))(scope, receive, send)

    return guard


def serve(server: Any, kind: str, port: int) -> None:
    app: ASGIApp = server.sse_app() if kind == "sse" else server.streamable_http_app()
    if token := os.environ.get("TOKEN"):
        app = guarded(app, token)
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", port))
    listener.listen()
    print(listener.getsockname()[1], flush=True)  # noqa: T201
    uvicorn.Server(uvicorn.Config(app, log_level="error")).run([listener])


def main(server: Any) -> None:
    if sys.argv[1] == "stdio":
        server.run()
    else:
        serve(server, sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 0)


if __name__ == "__main__":
    main(mcp)
