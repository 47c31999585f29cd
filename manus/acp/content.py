"""Read the content that an editor sends with a prompt: text, files and images."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from acp import schema

from manus.calls.result import Image
from manus.graph.attachments import attach_files
from manus.state.request import Request


def read_prompt(blocks: Iterable[Any], trusted: Path | None) -> tuple[Request, list[Any]]:
    """Return the request, and the images as blocks of a message. Blocking.

    A linked file is attached as text, another link is named. Files inside the `trusted` folder do
    not taint the request.

    Raises:
        UsageError: a linked file cannot be read, or is not text.
    """
    typed: list[str] = []
    attached: list[str] = []
    files: list[Path] = []
    images: list[Any] = []
    for block in blocks:
        match block:
            case schema.TextContentBlock():
                typed.append(block.text)
            case schema.ImageContentBlock():
                images.append(Image(block.data, block.mime_type).as_block())
            case schema.ResourceContentBlock() if path := _local_file(block.uri):
                typed.append(f"@{path}")
                files.append(path)
            case schema.ResourceContentBlock():
                typed.append(block.uri)
            case schema.EmbeddedResourceContentBlock(
                resource=schema.TextResourceContents(uri=uri, text=text)
            ):
                name = _local_file(uri) or uri
                attached.append(f'<file name="{name}">\n{text.rstrip()}\n</file>')
    user_text = "".join(typed).strip()
    text = "\n\n".join([user_text, *attached])
    request = attach_files(Request(text, user_text, bool(attached)), files, trusted)
    return request, images


def _local_file(uri: str) -> Path | None:
    parts = urlsplit(uri)
    if parts.scheme != "file":
        return None
    path = Path(unquote(parts.path))
    return path if path.is_file() else None
