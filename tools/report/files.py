"""Pictures of the workspace as data URLs, and links to its files. Blocking."""

from __future__ import annotations

import base64
import os
import re
from pathlib import Path
from urllib.parse import quote, unquote

from manus.state.errors import ToolError
from manus.tools.editor.files import image_type, read_file
from manus.tools.workspace import Workspace

MOST = 40 * 2**20
"""Bytes of all pictures of a report together, as files."""
_WEB = re.compile(r"(https?|mailto):", re.IGNORECASE)


class Files:
    """What a report that is written to `output` names.

    A name is looked for beside the report's Markdown (`folder`) first, then from the workspace's
    root.
    """

    def __init__(self, workspace: Workspace, folder: Path, output: Path) -> None:
        self.embedded = 0
        self.not_fetched: list[str] = []
        self.not_found: list[str] = []
        self._workspace = workspace
        self._folder = folder.relative_to(workspace.root)
        self._output = output
        self._bytes = 0

    def picture(self, source: str) -> str | None:
        """The data URL of a picture; None for one on the web, which is not fetched, or not there.

        Raises:
            ToolError: it is outside the workspace, or no picture.
        """
        if _WEB.match(source):
            self.not_fetched.append(source)
            return None
        if source.startswith("data:"):  # the parser lets none through but pictures
            self.embedded += 1
            return source
        path = self._found(source)
        if path is not None and path.suffix.lower() in (".html", ".htm"):
            path = self._found(f"{source[: -len(path.suffix)]}.png")  # a chart's page has a PNG
        if path is None:
            self.not_found.append(unquote(source))
            return None
        self.embedded += 1
        return self._url(path)

    def link(self, target: str) -> str | None:
        """Where a link leads from the report; None if nowhere that it may."""
        if _WEB.match(target) or target.startswith("#"):
            return target
        name, _, place = target.partition("#")
        try:
            found = self._found(name)
        except ToolError:
            return None
        if found is None:
            return None
        relative = quote(os.path.relpath(found, self._output.parent))
        return f"{relative}#{place}" if place else relative

    def _found(self, source: str) -> Path | None:
        """The file that is meant, if there is one.

        Raises:
            ToolError: it lies outside the workspace.
        """
        name = unquote(source)
        for folder in dict.fromkeys((self._folder, Path())):
            path = self._workspace.readable(str(folder / name))
            try:
                if path.is_file():
                    return path
            except OSError:  # a name that is too long for any file
                return None
        return None

    def _url(self, path: Path) -> str:
        shown = self._workspace.show(path)
        try:
            data = read_file(path, shown)
        except OSError as error:
            raise ToolError(f"{shown} cannot be read: {error.strerror}.") from None
        self._bytes += len(data)
        if self._bytes > MOST:
            raise ToolError(
                f"The pictures of the report have more than {MOST:,} bytes together; "
                "leave some out, or make them smaller."
            )
        kind = "image/svg+xml" if path.suffix.lower() == ".svg" else image_type(data)
        if kind is None:
            raise ToolError(
                f"{shown} is no picture that a page can show; there are: PNG, JPEG, GIF, WebP, SVG."
            )
        return f"data:{kind};base64,{base64.b64encode(data).decode('ascii')}"
