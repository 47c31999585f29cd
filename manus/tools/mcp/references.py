"""What a request names of MCP servers: the prompt that it is, and the resources that it attaches.

Both are read before the run, over connections of their own.
"""

from __future__ import annotations

import asyncio
import re
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from manus.calls.catalog import MCP, Catalog
from manus.calls.session import Session
from manus.config.profile import Profile
from manus.config.run_settings import resolve_settings
from manus.config.settings import Settings
from manus.prompts.sources import framed, plain
from manus.state.errors import ToolError, UsageError
from manus.state.request import Request
from manus.tools.mcp import find_fault
from manus.workspace.workspace import Workspace

_PROMPT = re.compile(r"/([\w-]+):(\S+)(.*)", re.DOTALL)
_RESOURCE = re.compile(r"(?<!\S)@([\w-]+):(\S+)")
_PUNCTUATION = ".,;:?!"


@asynccontextmanager
async def open_servers(
    settings: Settings, folder: str | Path
) -> AsyncIterator[tuple[Catalog, dict[str, Any]]]:
    """Connect to the enabled servers outside a run, for the length of a block.

    Provide the catalog of their tools, and their clients by name. Programs are started as in a run
    that works in `folder`, if that exists.

    Raises:
        UsageError: the SDK cannot be used.
    """
    if fault := find_fault():
        raise UsageError(fault)
    from manus.tools.mcp.tools import update

    catalog = Catalog()
    profile = Profile("mcp", "Lists the servers.", (MCP,), "", "")
    with tempfile.TemporaryDirectory() as empty:
        workspace = await asyncio.to_thread(_existing_workspace, folder, empty)
        session = Session(workspace, settings=resolve_settings(settings, profile=profile))
        try:
            yield catalog, {server.name: server for server in await update(catalog, session)}
        finally:
            await session.close()


def _existing_workspace(folder: str | Path, empty: str) -> Workspace:
    """Return a folder as workspace, or an empty one if it does not exist. Blocking."""
    folder = Path(folder).expanduser()
    return Workspace(str(folder) if folder.is_dir() else empty)


async def resolve_references(request: Request, settings: Settings, folder: Path) -> Request:
    """Return a request with what it names of MCP servers.

    `/SERVER:PROMPT ARGUMENTS` is replaced by the prompt, `@SERVER:URI` attaches a resource. Other
    words are left as they are.

    Raises:
        UsageError: a server cannot be reached, or refuses.
    """
    typed = request.user_text
    prompt = _PROMPT.fullmatch(typed)
    resources = [(name, uri.rstrip(_PUNCTUATION)) for name, uri in _RESOURCE.findall(typed)]
    names = {name for name, _ in resources} | ({prompt[1]} if prompt else set())
    servers = {n: s for n, s in settings.mcp.items() if n in names and s.enabled}
    if not servers:
        return request
    only = settings.model_copy(update={"mcp": servers})
    async with open_servers(only, folder) as (_, clients):
        try:
            for client in clients.values():
                if client.problem:
                    raise UsageError(client.problem)
            text = request.text
            if prompt and prompt[1] in clients:
                text = await _read_prompt(clients[prompt[1]], prompt[2], prompt[3])
                text += request.text.removeprefix(typed)
            for name, uri in resources:
                if name in clients:
                    parts = await clients[name].read_resource(uri)
                    content = framed("\n".join(map(_text, parts)), clients[name].source)
                    text += f'\n\n<file name="{name}:{uri}">\n{content}\n</file>'
        except ToolError as error:
            raise UsageError(str(error)) from None
    return Request(text, typed, is_tainted=True)


async def _read_prompt(client: Any, name: str, words: str) -> str:
    """Return the text of a prompt; its last argument takes the words that remain."""
    from manus.tools.mcp.definitions import list_prompts

    prompts: dict[str, Any] = {each["name"]: each for each in await client.ask(list_prompts)}
    names = [argument["name"] for argument in prompts.get(name, {}).get("arguments", [])]
    arguments = dict(zip(names, words.split(None, max(len(names) - 1, 0)), strict=False))
    params = {"name": name, "arguments": arguments}
    prompt = await client.ask(lambda request: request("prompts/get", params))
    return plain("\n\n".join(_text(message["content"]) for message in prompt["messages"]))


def describe_prompt(server: str, prompt: Mapping[str, Any]) -> str:
    """Return how a prompt is used in a request."""
    names = [each["name"].upper() for each in prompt.get("arguments") or []]
    return " ".join([f"/{server}:{prompt['name']}", *names])


def _text(content: Mapping[str, Any]) -> str:
    """Return the text of a content block or of a resource."""
    match content:
        case {"text": str(text)} | {"resource": {"text": str(text)}}:
            return text
    kind = content.get("mimeType") or content.get("type") or "content"
    return f"[{kind}, which is not text and is left out]"
