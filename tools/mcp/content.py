"""What a server gave back, as an observation: text, pictures and errors of its own."""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import json
import mimetypes
from pathlib import Path

from mcp import types

from manus.tools.beneath import write_private
from manus.tools.result import Image, Observation
from manus.tools.workspace import OBSERVATIONS, Workspace

_PICTURES = ("image/png", "image/jpeg", "image/gif", "image/webp")
"""What models can see; other pictures are kept as files."""


async def to_observation(result: types.CallToolResult, workspace: Workspace) -> Observation:
    """The observation of a reply. What is neither text nor a picture is kept in a file."""
    texts: list[str] = []
    images: list[Image] = []
    for block in result.content:
        match block:
            case types.TextContent(text=text):
                texts.append(text)
            case types.ResourceLink(name=name, mimeType=kind, uri=uri):
                texts.append(f"[resource {name}{f' ({kind})' if kind else ''}: {uri}]")
            case types.EmbeddedResource(resource=types.TextResourceContents(uri=uri, text=text)):
                texts.append(f"[resource {uri}]\n{text}")
            case types.EmbeddedResource(resource=types.BlobResourceContents() as resource):
                kind = resource.mimeType or "application/octet-stream"
                texts += await _taken(resource.blob, kind, images, workspace)
            case types.ImageContent() | types.AudioContent():
                texts += await _taken(block.data, block.mimeType, images, workspace)
    if not result.content and result.structuredContent is not None:
        texts.append(json.dumps(result.structuredContent, ensure_ascii=False, indent=1))
    text = "\n".join(filter(None, texts))
    if result.isError and not text:
        text = "The tool failed without saying why."
    return Observation(text, tuple(images), bool(result.isError))


async def _taken(data: str, kind: str, images: list[Image], workspace: Workspace) -> list[str]:
    """What is said of data; a picture goes to `images`."""
    if kind in _PICTURES:
        images.append(Image(data, kind))
        return []
    return [await asyncio.to_thread(_keep, data, kind, workspace.root)]


def _keep(data: str, kind: str, root: Path) -> str:
    """Write to a file that is named by what is in it. Blocking."""
    try:
        content = base64.b64decode(data, validate=True)
    except binascii.Error:
        return f"[{kind}, which is not valid base64]"
    suffix = mimetypes.guess_extension(kind) or ".bin"
    name = f"{OBSERVATIONS}/{hashlib.sha256(content).hexdigest()[:12]}{suffix}"
    try:
        write_private(root / name, content)
    except OSError as error:
        return f"[{kind}, {len(content):,} bytes, which could not be kept: {error.strerror}]"
    return f"[{kind}, {len(content):,} bytes, in {name}]"
