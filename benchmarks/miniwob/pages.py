"""The pages of MiniWoB++, served on loopback from the installed package `miniwob`."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path

INSTALL = "python -m pip install --no-deps -r requirements/pages.txt"
"""Installs the pages alone; the package's dependencies are for an environment of their own."""


class PagesMissingError(Exception):
    """The package that contains the pages is not installed."""


def find_pages() -> Path:
    """Return the folder that contains the pages and the scripts that they load.

    Raises:
        PagesMissingError: the package is not installed.
    """
    spec = find_spec("miniwob")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        html = Path(folder) / "html"
        if html.is_dir():
            return html
    raise PagesMissingError(f"The package with the pages is not installed: {INSTALL}")


class _Handler(SimpleHTTPRequestHandler):
    def log_message(self, *args: object) -> None:
        pass


@contextmanager
def serve(folder: Path) -> Iterator[str]:
    """Serve a folder for the duration of the block; yield the base address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Handler, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
