"""Pictures of the workspace as data URLs, and links to its files. Blocking."""

from __future__ import annotations

import base64
import os
import re
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

from manus.state.errors import ToolError
from manus.tools.editor.files import image_type, read_file
from manus.tools.workspace import Workspace

MOST = 40 * 2**20
"""Bytes of all pictures of a report together, as files."""
_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:")
_DATA = re.compile(r"data:image/(png|jpeg|gif|webp|svg\+xml);base64,[A-Za-z0-9+/=]+")
_WEB = ("http", "https", "mailto")


class Pictures:
    """What a report that lies in `folder` names, found in the workspace.

    A name is looked for beside the report's Markdown first, then from the workspace's root.
    """

    def __init__(self, workspace: Workspace, folder: Path, output: Path) -> None:
        self.embedded = 0
        self.not_fetched: list[str] = []
        self._workspace = workspace
        self._folder = folder.relative_to(workspace.root)
        self._output = output
        self._bytes = 0
        self._known: dict[Path, str] = {}

    def embed(self, source: str) -> str | None:
        """The data URL of a picture; None for one on the web, which is not fetched.

        Raises:
            ToolError: it is not in the workspace, or no picture.
        """
        if _DATA.fullmatch(source):
            self.embedded += 1
            return source
        if is_web(source):
            self.not_fetched.append(source)
            return None
        path = self._picture(source)
        if path not in self._known:
            self._known[path] = self._url(path)
        self.embedded += 1
        return self._known[path]

    def link(self, target: str) -> str | None:
        """Where a link leads from the report; None if nowhere that it may."""
        if is_web(target) or target.startswith("#"):
            return target
        if _SCHEME.match(target):
            return None
        name, _, place = target.partition("#")
        try:
            found = self._found(name)
        except ToolError:
            return None
        if found is None:
            return None
        relative = quote(os.path.relpath(found, self._output.parent))
        return f"{relative}#{place}" if place else relative

    def _picture(self, source: str) -> Path:
        if _SCHEME.match(source) or source.startswith("//"):
            raise ToolError(
                f"The picture `{source[:100]}` is no path in the workspace; only files there can "
                "be put into a report, named relative to it."
            )
        path = self._found(source)
        if path is not None and path.suffix.lower() in (".html", ".htm"):
            path = self._found(f"{source[: -len(path.suffix)]}.png")  # a chart's page has a PNG
        if path is None:
            raise ToolError(
                f"The report names the picture `{_plain(source)}`, and there is no such picture in "
                "the workspace; make it first, or take it out."
            )
        return path

    def _found(self, source: str) -> Path | None:
        """The file that is meant, if there is one.

        Raises:
            ToolError: it lies outside the workspace.
        """
        for name in dict.fromkeys((unquote(source), source)):
            for folder in dict.fromkeys((self._folder, Path())):
                path = self._workspace.readable(str(folder / name) if name.strip() else "")
                if _is_file(path):
                    return path
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
        kind = image_type(data) or ("image/svg+xml" if _is_svg(data) else None)
        if kind is None:
            raise ToolError(
                f"{shown} is no picture that a page can show; there are: PNG, JPEG, GIF, WebP, SVG."
            )
        return f"data:{kind};base64,{base64.b64encode(data).decode('ascii')}"


def is_web(target: str) -> bool:
    """Whether a name is that of a page, or of a mail address."""
    try:
        return urlsplit(target).scheme.lower() in _WEB
    except ValueError:
        return False


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a name that is too long for any file
        return False


def _plain(source: str) -> str:
    return unquote(source)[:200]


def _is_svg(data: bytes) -> bool:
    head = data[:4096].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    return head.startswith(b"<") and re.search(rb"<svg[\s>]", head) is not None
