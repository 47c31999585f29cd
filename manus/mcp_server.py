"""This program as an MCP server: the tools of a profile, and `run` for a whole task."""

from __future__ import annotations

import asyncio
import io
import os
import secrets
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from typing import Any

import anyio
import uvicorn
from langchain_core.utils.function_calling import convert_to_openai_tool
from mcp import types
from mcp.server.fastmcp import FastMCP
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from manus.config.settings import Settings
from manus.execution.call import call_tool
from manus.execution.catalog import asks_for_mcp, build_catalog
from manus.execution.network.egress import is_loopback
from manus.execution.session import Session
from manus.execution.workspace import Workspace
from manus.graph.outcome import Outcome
from manus.graph.profiles import profile_named
from manus.pages.server_guard import Guard, listen
from manus.prompts.formatting import flat, main_argument
from manus.runs.jobs import create_job, run_job
from manus.runs.options import RunOptions
from manus.runs.signals import end_at_once
from manus.state.agent import ToolTask
from manus.state.errors import ManusError, UsageError
from manus.store.open_store import open_store
from manus.store.threads import read_thread

TOKEN = "MANUS_MCP_TOKEN"
_NOT_SERVED = frozenset({"ask_human", "skill", "delegate", "remember", "terminate", "planning"})
"""They only have a meaning within a run."""
_GRACE = 3
"""Seconds for requests under way when the server is told to end."""
Tell = Callable[[str], Awaitable[None]]


class Task(BaseModel):
    """Have a general agent work on a task, step by step, until it is done."""

    model_config = ConfigDict(extra="forbid")

    request: str = Field(
        description="What to do, in words; or the answer, where the thread waits with a question"
    )
    thread: str | None = Field(
        None, description="The conversation to go on with, as an earlier result named it"
    )
    plan: bool = Field(False, description="Plan first, then carry out the plan step by step")


class ClientTools:
    """What one client is served with, in a session of its own; closed when it goes."""

    def __init__(self, settings: Settings, profile: str, workspace: Workspace) -> None:
        self._settings = settings
        self._profile = profile_named(profile)
        self.session = Session(workspace, profile=self._profile, settings=settings)
        entries = [
            entry
            for entry in self._profile.tools
            if not (isinstance(entry, str) and entry in _NOT_SERVED) and not asks_for_mcp(entry)
        ]
        self._catalog = build_catalog(entries, self.session)

    def listed(self) -> list[types.Tool]:
        """What is offered."""
        functions = [convert_to_openai_tool(tool)["function"] for tool in self._catalog]
        functions.append({**convert_to_openai_tool(Task)["function"], "name": "run"})
        return [
            types.Tool(name=f["name"], description=f["description"], inputSchema=f["parameters"])
            for f in functions
        ]

    async def call(self, name: str, arguments: dict[str, Any], tell: Tell) -> types.CallToolResult:
        """Carry out a call. A cancelled one clears up after itself while others are served."""
        work = self._work(arguments, tell) if name == "run" else self._call(name, arguments)
        task = asyncio.create_task(work)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            task.cancel()  # apart from the client's scope, which would cancel its clearing up
            raise

    async def _call(self, name: str, arguments: dict[str, Any]) -> types.CallToolResult:
        key = secrets.token_hex(8)
        task = ToolTask(index=0, id=key, name=name, args=arguments)
        called = await call_tool(task, session=self.session, catalog=self._catalog, key=key)
        message = called.message
        return types.CallToolResult(
            content=[_block(part) for part in message.content_blocks],
            isError=message.status == "error",
        )

    async def _work(self, arguments: dict[str, Any], tell: Tell) -> types.CallToolResult:
        """Run a task in the workspace to its end or its question; calls are told as they come."""
        try:
            outcome = await self._run(Task.model_validate(arguments), tell)
        except (ManusError, ValidationError) as error:
            return _said(flat(str(error)), is_error=True)
        waits = bool(outcome.questions)
        hint = f"\n(Answer with `thread` {outcome.thread_id}.)" if waits else ""
        result = _said(outcome.output + hint, is_error=not (outcome.success or waits))
        result.structuredContent = outcome.as_json()
        return result

    async def _run(self, task: Task, tell: Tell) -> Outcome:
        async def show(_: str, event: Any) -> None:
            inner = event.get("event", event)  # a plan's step tells of its agent's
            if inner.get("type") == "call":
                await tell(f"{inner['name']}: {main_argument(inner['args'])[:200]}")

        thread = task.thread or secrets.token_hex(5)
        place, profile = str(self.session.workspace.root), self._profile.name
        args = RunOptions(workspace=place, profile=profile, interactive=False)
        given = {"request": task.request}
        async with open_store(self._settings) as store, store.hold(thread):
            known = await read_thread(store, thread)
            kind = known.kind if known else "flow" if task.plan else "agent"
            job = await create_job(kind, thread, task.request, given, args, self._settings, store)
            return await run_job(job, ["custom"], show)


def _said(text: str, *, is_error: bool) -> types.CallToolResult:
    content: list[types.ContentBlock] = [types.TextContent(type="text", text=text)]
    return types.CallToolResult(content=content, isError=is_error)


def _block(part: Any) -> types.ContentBlock:
    if part["type"] == "image":
        return types.ImageContent(type="image", data=part["base64"], mimeType=part["mime_type"])
    return types.TextContent(type="text", text=part["text"])


class ToolServer(FastMCP[ClientTools]):
    """Serves each client with tools and a session of its own."""

    def __init__(
        self, settings: Settings, profile: str, workspace: Workspace, host: str = "127.0.0.1"
    ) -> None:
        @asynccontextmanager
        async def lifespan(_: Any) -> AsyncIterator[ClientTools]:
            tools = await asyncio.to_thread(ClientTools, settings, profile, workspace)
            try:
                yield tools
            finally:
                with anyio.CancelScope(shield=True):
                    await tools.session.close()

        super().__init__("manus", host=host, log_level="ERROR", lifespan=lifespan)

    async def list_tools(self) -> list[types.Tool]:
        """What is offered."""
        return self.get_context().request_context.lifespan_context.listed()

    async def call_tool(self, name: str, arguments: dict[str, Any]) -> Any:
        """Carry out a call; a tool of ours says itself what is wrong with its arguments."""
        context, told = self.get_context(), 0

        async def tell(line: str) -> None:
            nonlocal told
            told += 1
            await context.report_progress(told, message=line)  # if the client wants to know

        tools: ClientTools = context.request_context.lifespan_context
        return await tools.call(name, arguments, tell)


def _refusal(expected: bytes, request: Request) -> Response | None:
    """Nothing for who bears the token."""
    given = request.headers.get("authorization", "").encode()
    if secrets.compare_digest(given, expected):
        return None
    return PlainTextResponse("A bearer token is needed; the server printed it.", 401)


async def serve(
    settings: Settings, profile: str, place: str, address: tuple[str, int] | None
) -> int:
    """Serve until the client goes, or a signal says so; the exit code.

    `place` is the workspace; `address` a host and port for HTTP, None for stdin and stdout.
    """
    workspace = Workspace(place)
    await asyncio.to_thread(workspace.prepare)
    if address is not None:
        return await serve_http(ToolServer(settings, profile, workspace, address[0]), *address)
    for number in (signal.SIGTERM, signal.SIGHUP):
        # the SDK reads stdin in a thread, which nothing else ends
        asyncio.get_running_loop().add_signal_handler(number, end_at_once, 0)
    with _own_streams():
        await ToolServer(settings, profile, workspace).run_stdio_async()
    return 0


class _ToClient(io.FileIO):
    """Writes to the client; ends the process when the client has closed its end.

    The SDK would wait for stdin to be closed, too, and fail with the broken pipe then.
    """

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            end_at_once(0)


@contextmanager
def _own_streams() -> Iterator[None]:
    """Give the SDK copies of stdin and stdout for a block: it closes what it works on.

    Meanwhile what else is printed goes to stderr, where it does not break the protocol.
    """
    before = sys.stdin, sys.stdout
    sys.stdin = os.fdopen(os.dup(0), encoding="utf-8")
    sys.stdout = io.TextIOWrapper(io.BufferedWriter(_ToClient(os.dup(1), "w")), encoding="utf-8")
    os.dup2(2, 1)
    try:
        yield
    finally:
        sys.stdin, sys.stdout = before


async def serve_http(server: ToolServer, host: str, port: int) -> int:
    """Serve at /mcp until a signal says so; the exit code.

    Raises:
        UsageError: the address cannot be used, or is open to other machines without a token.
    """
    token = os.environ.get(TOKEN, "").strip()
    if not (is_loopback(host) or token):
        raise UsageError(
            f"Who reaches {host} could run commands here: set {TOKEN} to a secret that clients "
            "must bear, or serve 127.0.0.1."
        )
    made = "" if token else secrets.token_urlsafe(24)  # other users of this machine have none
    listener = listen(host, port)
    shown = f"[{host}]" if ":" in host else host
    sys.stderr.write(f"Serving MCP at http://{shown}:{listener.getsockname()[1]}/mcp\n")
    if made:
        sys.stderr.write(f"Clients send this header: Authorization: Bearer {made}\n")
    sys.stderr.flush()
    # uvicorn ends at these signals, and then sends them once more to whoever listened before
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, lambda: None)
    expected = f"Bearer {token or made}".encode()
    app = Guard(server.streamable_http_app(), partial(_refusal, expected))
    config = uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=_GRACE)
    await uvicorn.Server(config).serve([listener])
    return 0
