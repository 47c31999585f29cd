"""Speak MCP with either major version of the protocol's SDK; no other module imports it.

Requests and results are JSON values, as they are sent. The types of the SDK would differ between
its versions, and refuse a whole reply for one part that is not valid.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, nullcontext
from importlib import import_module
from importlib.metadata import version
from typing import IO, Any, NamedTuple, Protocol, cast

import anyio
from pydantic import RootModel
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from manus.version import VERSION

_VERSION = version("mcp")
_RELEASE = tuple(int(part) for part in _VERSION.split(".")[:2])
if not (1, 27) <= _RELEASE < (3,):
    raise ImportError("1.27 to 2.x are supported")
IS_FIRST = _RELEASE < (2,)
"""Whether the SDK is of version 1."""
# untyped, because the types are those of only one of the versions
_sdk: Any = import_module("mcp")
_types: Any = import_module("mcp.types")
_exceptions: Any = import_module("mcp.shared.exceptions")
_McpError: type[Exception] = _exceptions.McpError if IS_FIRST else _exceptions.MCPError
http: Any = import_module("httpx" if IS_FIRST else "httpx2")
"""The HTTP library of the SDK."""
CONNECTION_CLOSED: int = _types.CONNECTION_CLOSED
"""The code of a request whose connection was closed."""
_CANCEL_TIMEOUT = 2.0
"""Seconds to tell a server that a request is cancelled."""
Streams = tuple[Any, Any]
"""What a session reads from and writes to."""
Progress = Callable[[float, float | None, str | None], Awaitable[None]]
"""Gets the progress of a request: how far it is, out of what, and a message."""
Request = Callable[..., Awaitable[dict[str, Any]]]
"""Sends a request: its method, its parameters and optionally a Progress; returns the result."""


class Client(NamedTuple):
    """An initialized session with a server."""

    request: Request
    has_resources: bool
    """Whether the server says that it has resources."""


Report = Callable[[str], Awaitable[None]]
"""Reports the progress of a call as a line."""


class ProtocolError(Exception):
    """The server answered with an error."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


# --- client --------------------------------------------------------------------------------------


@asynccontextmanager
async def start_program(program: dict[str, Any], errors: IO[str]) -> AsyncIterator[Streams]:
    """Start a server as a subprocess for the length of a block.

    `program` has the fields of the SDK's `StdioServerParameters`; `errors` gets its stderr.
    """
    parameters = _sdk.StdioServerParameters(encoding_error_handler="replace", **program)
    async with _sdk.stdio_client(parameters, errlog=errors) as (read, write):
        yield read, write


@asynccontextmanager
async def connect_address(url: str, kind: str, options: dict[str, Any]) -> AsyncIterator[Streams]:
    """Connect to a server at an address for the length of a block.

    `options` are those of the HTTP client, which reads certificates from the disk.
    """
    client = await asyncio.to_thread(lambda: http.AsyncClient(**options))
    if kind == "sse":
        sse: Any = import_module("mcp.client.sse")
        async with sse.sse_client(url, httpx_client_factory=lambda **_: client) as (read, write):
            yield read, write
        return
    # version 2 limits the size of a reply
    limit: dict[str, Any] = {} if IS_FIRST else {"max_sse_event_size": None}
    streamable: Any = import_module("mcp.client.streamable_http")
    connecting = streamable.streamable_http_client(url, http_client=client, **limit)
    async with client, connecting as streams:
        yield streams[0], streams[1]


def raise_for_refusal(response: Any) -> None:
    """Raise an error for a refused message; version 2 of the SDK would hide its status."""
    # a 400 in JSON is an error of the protocol, which the SDK passes on
    is_protocol_error = response.status_code == 400 and "json" in response.headers.get(
        "content-type", ""
    )
    if response.request.method == "POST" and response.is_error and not is_protocol_error:
        response.raise_for_status()


@asynccontextmanager
async def open_session(
    streams: Streams, on_change: Callable[[], None], on_question: Callable[[str], None]
) -> AsyncIterator[Client]:
    """Initialize a session for the length of a block.

    `on_change` is called when the server announces that its tools have changed; `on_question` with
    each question to the user, which is declined.

    Raises:
        ProtocolError: the server refuses the session. Requests raise it, too.
    """

    async def handle(message: Any) -> None:
        notification = getattr(message, "root", message)
        if getattr(notification, "method", None) == "notifications/tools/list_changed":
            on_change()

    async def decline(_: Any, params: Any) -> Any:
        on_question(params.message)
        return _types.ElicitResult(action="decline")

    client = _types.Implementation(name="manus", version=VERSION)
    options: dict[str, Any] = {"client_info": client, "message_handler": handle}
    options["elicitation_callback"] = decline
    session, send = (_open_first if IS_FIRST else _open_second)(streams, options)

    async def request(
        method: str, params: dict[str, Any], progress: Progress | None = None
    ) -> dict[str, Any]:
        with _translated_errors():
            return await send(method, params, progress)

    async with session:
        try:
            with _translated_errors():
                opened = await session.initialize()
        except ProtocolError as error:
            if IS_FIRST or error.code == CONNECTION_CLOSED:
                raise
            # the server may speak only the newer protocol, which has no such request
            with _translated_errors():
                opened = await session.discover()
        yield Client(request, opened.capabilities.resources is not None)


@contextmanager
def _translated_errors() -> Iterator[None]:
    """Raise the SDK's errors in a block as a ProtocolError."""
    try:
        yield
    except _McpError as refusal:
        error = cast(Any, refusal).error
        raise ProtocolError(error.code, error.message) from None


def _open_first(streams: Streams, options: dict[str, Any]) -> tuple[Any, Request]:
    session = _sdk.ClientSession(*streams, **options)

    async def send(
        method: str, params: dict[str, Any], progress: Progress | None = None
    ) -> dict[str, Any]:
        request = _types.Request[dict[str, Any], str](method=method, params=params)
        kind = RootModel[dict[str, Any]]
        number = session._request_id
        try:
            result = await session.send_request(request, kind, progress_callback=progress)
        except asyncio.CancelledError:  # version 2 tells the server by itself
            cancelled = _types.CancelledNotificationParams(requestId=number)
            note = _types.CancelledNotification(params=cancelled)
            with anyio.move_on_after(_CANCEL_TIMEOUT):
                await session.send_notification(_types.ClientNotification(note))
            raise
        return cast("dict[str, Any]", result.root)

    return session, send


def _open_second(streams: Streams, options: dict[str, Any]) -> tuple[Any, Request]:
    dispatcher = import_module("mcp.shared.jsonrpc_dispatcher").JSONRPCDispatcher(*streams)
    session = _sdk.ClientSession(dispatcher=dispatcher, **options)

    async def send(
        method: str, params: dict[str, Any], progress: Progress | None = None
    ) -> dict[str, Any]:
        data: dict[str, Any] = {"method": method, "params": {**params}}
        call_options: dict[str, Any] = {"on_progress": progress} if progress else {}
        session._stamp(data, call_options)  # adds what the version of the protocol requires
        result = await dispatcher.send_raw_request(method, data["params"], call_options)
        return cast("dict[str, Any]", result)

    return session, send


# --- server --------------------------------------------------------------------------------------


class ServedTools(Protocol):
    """The tools that one client may call."""

    def list_definitions(self) -> list[dict[str, Any]]:
        """Return the tools in the form of the protocol."""

    async def call(self, name: str, arguments: dict[str, Any], report: Report) -> dict[str, Any]:
        """Return the result of a call in the form of the protocol."""


OpenTools = Callable[[], AbstractAsyncContextManager[ServedTools]]
"""Opens the tools of a client, for the length of its connection."""


async def serve_streams(open_tools: OpenTools, streams: Streams) -> None:
    """Serve one client until it disconnects."""
    server = _build_server(lambda _: open_tools(), open_tools)
    await server.run(*streams, server.create_initialization_options())


async def serve_stdio(open_tools: OpenTools) -> None:
    """Serve the client at stdin and stdout until it disconnects."""
    async with _sdk.stdio_server() as streams:
        await serve_streams(open_tools, streams)


@asynccontextmanager
async def open_http_app(open_tools: OpenTools) -> AsyncIterator[ASGIApp]:
    """Provide an application that serves clients at /mcp, for the length of a block."""
    # version 2 opens one lifespan for all clients
    lifespan = (lambda _: open_tools()) if IS_FIRST else (lambda _: nullcontext())
    managers: Any = import_module("mcp.server.streamable_http_manager")
    manager = managers.StreamableHTTPSessionManager(app=_build_server(lifespan, open_tools))

    async def handle(scope: Scope, receive: Receive, send: Send) -> None:
        app: ASGIApp = manager.handle_request
        if scope["path"] != "/mcp":
            app = PlainTextResponse("Not found: the server is at /mcp.", 404)
        await app(scope, receive, send)

    async with manager.run():
        yield handle


def _build_server(lifespan: Callable[[Any], Any], open_tools: OpenTools) -> Any:
    return (_build_first if IS_FIRST else _build_second)(lifespan, open_tools)


def _build_first(lifespan: Callable[[Any], Any], _: OpenTools) -> Any:
    server = import_module("mcp.server.lowlevel").Server("manus", VERSION, lifespan=lifespan)

    async def list_tools() -> list[Any]:
        return _to_tools(server.request_context.lifespan_context)

    async def call_tool(name: str, arguments: dict[str, Any]) -> Any:
        context = server.request_context
        token = context.meta and context.meta.progressToken
        calls = 0

        async def report(line: str) -> None:
            nonlocal calls
            calls += 1
            if token is not None:
                await context.session.send_progress_notification(
                    token, calls, message=line, related_request_id=str(context.request_id)
                )

        return await _call(context.lifespan_context, name, arguments, report)

    server.list_tools()(list_tools)
    server.call_tool(validate_input=False)(call_tool)
    return server


def _build_second(lifespan: Callable[[Any], Any], open_tools: OpenTools) -> Any:
    opening = asyncio.Lock()

    async def obtain(context: Any) -> ServedTools:
        """Return the tools of the server's only client, or those of this connection."""
        if context.lifespan_context is not None:
            return cast(ServedTools, context.lifespan_context)
        connection = context.session._connection
        async with opening:
            if "tools" not in connection.state:
                tools = await connection.exit_stack.enter_async_context(open_tools())
                connection.state["tools"] = tools
        return cast(ServedTools, connection.state["tools"])

    async def list_tools(context: Any, _: Any) -> Any:
        return _types.ListToolsResult(tools=_to_tools(await obtain(context)))

    async def call_tool(context: Any, params: Any) -> Any:
        calls = 0

        async def report(line: str) -> None:
            nonlocal calls
            calls += 1
            await context.session.report_progress(calls, message=line)

        return await _call(await obtain(context), params.name, params.arguments or {}, report)

    build = import_module("mcp.server.lowlevel").Server
    handlers = {"on_list_tools": list_tools, "on_call_tool": call_tool}
    return build("manus", version=VERSION, lifespan=lifespan, **handlers)


def _to_tools(tools: ServedTools) -> list[Any]:
    return [_types.Tool.model_validate(definition) for definition in tools.list_definitions()]


async def _call(tools: ServedTools, name: str, arguments: dict[str, Any], report: Report) -> Any:
    return _types.CallToolResult.model_validate(await tools.call(name, arguments, report))
