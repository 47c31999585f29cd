"""Run manus as an MCP server: the tools of a profile, and `run` for a whole task."""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import anyio
import uvicorn
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from manus.calls.call import call_tool
from manus.calls.catalog import asks_for_mcp, build_catalog
from manus.calls.session import Session
from manus.config.run_settings import resolve_settings
from manus.config.settings import Settings
from manus.graph.outcome import Outcome
from manus.graph.profiles import find_profile
from manus.pages.server_guard import LOOPBACK_NAMES, AccessPolicy, Guard, listen
from manus.prompts.formatting import flat, main_argument
from manus.runs.jobs import create_job, run_job
from manus.runs.options import RunOptions
from manus.runs.signals import end_at_once, own_streams
from manus.sandbox.egress import is_loopback
from manus.state.agent import ToolTask
from manus.state.errors import ManusError, UsageError
from manus.threads.open_store import open_store
from manus.threads.thread_list import read_thread
from manus.tools.mcp.sdk import OpenTools, Report, open_http_app, serve_stdio
from manus.workspace.workspace import Workspace

TOKEN = "MANUS_MCP_TOKEN"
_NOT_SERVED = frozenset({"ask_human", "skill", "delegate", "remember", "terminate", "planning"})
"""Tools that only make sense within a run."""
_SHUTDOWN_TIMEOUT = 3
"""Seconds for running requests after a stop signal."""


class Task(BaseModel):
    """Have a general agent work on a task, step by step, until it is done."""

    model_config = ConfigDict(extra="forbid")

    request: str = Field(
        description="What to do; or the answer, if the thread is waiting on a question"
    )
    thread: str | None = Field(
        None, description="The conversation to continue, as named in an earlier result"
    )
    plan: bool = Field(False, description="Plan first, then execute the plan step by step")


class ClientTools:
    """The tools of one client, in a separate session that is closed when it disconnects."""

    def __init__(self, settings: Settings, profile: str, workspace: Workspace) -> None:
        self._settings = settings
        self._profile = find_profile(profile)
        run_settings = resolve_settings(settings, profile=self._profile)
        self.session = Session(workspace, settings=run_settings)
        entries = [
            entry
            for entry in self._profile.tools
            if not (isinstance(entry, str) and entry in _NOT_SERVED) and not asks_for_mcp(entry)
        ]
        self._catalog = build_catalog(entries, self.session)

    def list_definitions(self) -> list[dict[str, Any]]:
        """Return the tools in the form of the protocol."""
        functions = [convert_to_openai_tool(tool)["function"] for tool in self._catalog]
        functions.append({**convert_to_openai_tool(Task)["function"], "name": "run"})
        return [
            {"name": f["name"], "description": f["description"], "inputSchema": f["parameters"]}
            for f in functions
        ]

    async def call(self, name: str, arguments: dict[str, Any], report: Report) -> dict[str, Any]:
        """Run a tool call. A cancelled call cleans up while others are served."""
        work = self._work(arguments, report) if name == "run" else self._call(name, arguments)
        task = asyncio.create_task(work)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            task.cancel()  # outside the client's scope, which would also cancel the cleanup
            raise

    async def _call(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        key = secrets.token_hex(8)
        task = ToolTask(index=0, id=key, name=name, args=arguments)
        result = await call_tool(task, session=self.session, catalog=self._catalog, key=key)
        message = result.message
        content = [_block(part) for part in message.content_blocks]
        return {"content": content, "isError": message.status == "error"}

    async def _work(self, arguments: dict[str, Any], report: Report) -> dict[str, Any]:
        """Run a task in the workspace to its end or its question, reporting its calls."""
        try:
            outcome = await self._run(Task.model_validate(arguments), report)
        except (ManusError, ValidationError) as error:
            return _text_result(flat(str(error)), is_error=True)
        has_question = bool(outcome.questions)
        hint = f"\n(Answer with `thread` {outcome.thread_id}.)" if has_question else ""
        result = _text_result(outcome.output + hint, is_error=not (outcome.success or has_question))
        return {**result, "structuredContent": outcome.as_json()}

    async def _run(self, task: Task, report: Report) -> Outcome:
        async def show(_: str, event: Any) -> None:
            inner = event.get("event", event)  # events of a plan's step contain those of its agent
            if inner.get("type") == "call":
                await report(f"{inner['name']}: {main_argument(inner['args'])[:200]}")

        thread = task.thread or secrets.token_hex(5)
        args = RunOptions(
            workspace=str(self.session.workspace.root),
            profile=self._profile.name,
            interactive=False,
        )
        graph_input = {"request": task.request}
        async with open_store(self._settings) as store, store.hold(thread):
            existing = await read_thread(store, thread)
            kind = "flow" if task.plan else "agent"
            if existing is not None:
                kind = existing.kind
            job = await create_job(
                kind, thread, task.request, graph_input, args, self._settings, store
            )
            return await run_job(job, ["custom"], show)


def _text_result(text: str, *, is_error: bool) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}], "isError": is_error}


def _block(part: Any) -> dict[str, Any]:
    if part["type"] == "image":
        return {"type": "image", "data": part["base64"], "mimeType": part["mime_type"]}
    return {"type": "text", "text": part["text"]}


@asynccontextmanager
async def open_tools(
    settings: Settings, profile: str, workspace: Workspace
) -> AsyncIterator[ClientTools]:
    """Provide the tools of one client, in a session of its own."""
    tools = await asyncio.to_thread(ClientTools, settings, profile, workspace)
    try:
        yield tools
    finally:
        with anyio.CancelScope(shield=True):
            await tools.session.close()


async def serve(
    settings: Settings, profile: str, folder: str, address: tuple[str, int] | None
) -> int:
    """Serve until the client disconnects or a signal arrives; return the exit code.

    `address` is host and port for HTTP; None serves stdin and stdout.
    """
    workspace = Workspace(folder)
    await asyncio.to_thread(workspace.prepare)
    open_client = partial(open_tools, settings, profile, workspace)
    logging.getLogger("mcp").setLevel(logging.ERROR)
    if address is not None:
        return await serve_http(open_client, *address)
    for number in (signal.SIGTERM, signal.SIGHUP):
        # the SDK reads stdin in a thread, which cannot be stopped in any other way
        asyncio.get_running_loop().add_signal_handler(number, end_at_once, 0)
    with own_streams():
        await serve_stdio(open_client)
    return 0


async def serve_http(open_client: OpenTools, host: str, port: int) -> int:
    """Serve at /mcp until a stop signal; return the exit code.

    Raises:
        UsageError: the address is not available, or it is not loopback and there is no token.
    """
    token = os.environ.get(TOKEN, "").strip()
    if not (is_loopback(host) or token):
        raise UsageError(
            f"Anyone who can reach {host} could run commands here; set {TOKEN} to a secret token "
            "for clients, or serve on 127.0.0.1."
        )
    listener = listen(host, port)
    url_host = f"[{host}]" if ":" in host else host
    sys.stderr.write(f"Serving MCP at http://{url_host}:{listener.getsockname()[1]}/mcp\n")
    if not token:  # protects against other users of this machine
        token = secrets.token_urlsafe(24)
        sys.stderr.write(f"Clients send this header: Authorization: Bearer {token}\n")
    sys.stderr.flush()
    # uvicorn stops at these signals, then re-raises them for the previous handlers
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, lambda: None)
    hosts = {*LOOPBACK_NAMES, host} if is_loopback(host) else {"*"}
    access = AccessPolicy(frozenset(hosts), token=token, token_source="that the server printed")
    async with open_http_app(open_client) as app:
        config = uvicorn.Config(
            Guard(app, lambda: access),
            lifespan="off",
            log_level="error",
            timeout_graceful_shutdown=_SHUTDOWN_TIMEOUT,
        )
        await uvicorn.Server(config).serve([listener])
    return 0
