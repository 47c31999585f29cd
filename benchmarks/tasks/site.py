"""The web site of a task, on loopback: its pages, and a record of the submitted forms."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

_EPISODE = """<script>
addEventListener("load", () => {
  core.EPISODE_MAX_TIME = 900000;
  Math.seedrandom("SEED");
  const end = core.endEpisode;
  core.endEpisode = (...args) => {
    const isOpen = core.EP_TIMER !== null;
    end(...args);
    const form = new URLSearchParams({ reward: WOB_RAW_REWARD_GLOBAL });
    if (isOpen) navigator.sendBeacon("/reward", form);
  };
});
</script>"""
"""Added to a page of MiniWoB++: reports the reward of an episode whose time limit suits a model."""


class _Site(SimpleHTTPRequestHandler):
    def __init__(self, *args: Any, posted: Path, seed: str, **options: Any) -> None:
        self._posted = posted
        self._seed = seed
        super().__init__(*args, **options)

    def do_GET(self) -> None:
        path = Path(self.translate_path(self.path))
        if not self._seed or path.suffix != ".html" or not path.is_file():
            super().do_GET()
            return
        self._answer(path.read_bytes() + _EPISODE.replace("SEED", self._seed).encode())

    def do_POST(self) -> None:
        size = int(self.headers.get("content-length", 0))
        form = parse_qs(self.rfile.read(size).decode(), keep_blank_values=True)
        with self._posted.open("a") as record:
            record.write(json.dumps({"path": self.path, "form": form}) + "\n")
        thanks = b"<!doctype html><title>Thank you</title><h1>Thank you, it has arrived.</h1>"
        self._answer(thanks)

    def _answer(self, page: bytes) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/html; charset=utf-8")
        self.send_header("content-length", str(len(page)))
        self.end_headers()
        self.wfile.write(page)

    def log_message(self, *args: Any) -> None:
        pass


@contextmanager
def serve(folder: Path, posted: Path, seed: str = "") -> Iterator[str]:
    """Serve the site for the duration of the block; submitted forms are appended to `posted`.

    With a seed, its pages are those of MiniWoB++, and post the reward of each episode.
    """
    handler = partial(_Site, directory=str(folder), posted=posted, seed=seed)
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
