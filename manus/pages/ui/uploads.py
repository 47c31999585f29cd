"""Files that a person attaches to a request on the page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from manus.graph.attachments import keep_upload
from manus.state.errors import ToolError, UsageError
from manus.state.request import Request
from manus.workspace.text_files import image_type
from manus.workspace.workspace import Workspace


def attach_uploads(
    workspace: Workspace, text: str, files: Sequence[tuple[str, bytes]]
) -> tuple[Request, list[Path]]:
    """Put files into the workspace if missing; return the request that names them, and the images.

    Blocking.

    Raises:
        UsageError: a file cannot be written.
    """
    names = []
    images = []
    for name, data in files:
        try:
            path = keep_upload(name, data, workspace)
        except (ToolError, OSError) as error:
            raise UsageError(f"Cannot save {name} in the workspace: {error}") from None
        names.append(path)
        if image_type(data):
            images.append(workspace.root / path)
    text_with_names = f"{text}\n\nAttached, in the workspace: {', '.join(names)}".strip()
    return Request(text_with_names, text, is_tainted=True), images
