"""What a page costs the model: our text beside Playwright's `aria_snapshot`, on 20 pages.

    python -m benchmarks.browser [--patience SECONDS] [--out FILE]

Tokens are characters by four, as one counts English; times are those of one look at a loaded page,
the best of three. A snapshot that takes longer than the patience is given up.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from playwright.async_api import Error as PlaywrightError

from manus.state.browser_settings import EgressSettings
from manus.state.settings import Settings
from manus.tools.browser.browser import Browser, obtain_browser
from manus.tools.browser.state import browser_state
from manus.tools.browser_use import BrowserUse
from manus.tools.session import Session
from manus.tools.workspace import Workspace

SIZES = (200, 2_000, 20_000, 50_000)
_LOOKS = 3


def links(count: int) -> str:
    return "".join(f"<p><a href=/{n}>Article number {n}</a></p>" for n in range(count // 2))


def form(count: int) -> str:
    return "".join(
        f"<div><label>Field {n} <input value='value {n}'></label></div>" for n in range(count // 3)
    )


def table(count: int) -> str:
    rows = "".join(
        f"<tr><td>{n}</td><td>Name {n}</td><td>{n * 7}</td><td><button>Edit</button></td></tr>"
        for n in range(count // 6)
    )
    return f"<table>{rows}</table>"


def feed(count: int) -> str:
    return "".join(
        f"<article><h3>Post {n}</h3><p>Some words of text about matter {n}.</p>"
        f"<button>Like</button><a href=/c{n}>Comments</a></article>"
        for n in range(count // 5)
    )


def dense(count: int) -> str:
    style = "<style>a{display:inline-block;width:60px;font-size:9px;overflow:hidden}</style>"
    return style + "".join(f"<a href=/{n}>Item {n}</a>" for n in range(count))


KINDS: dict[str, Callable[[int], str]] = {
    "links": links,
    "form": form,
    "table": table,
    "feed": feed,
    "dense grid": dense,
}


@contextmanager
def server() -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            kind, _, size = self.path.strip("/").replace("%20", " ").partition("/")
            body = KINDS[kind](int(size)).encode() if kind in KINDS else b""
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=httpd.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{httpd.server_port}"
    finally:
        httpd.shutdown()


async def look(session: Session) -> tuple[int, float]:
    best, size = float("inf"), 0
    for _ in range(_LOOKS):
        begun = time.perf_counter()
        state = await browser_state(session)
        best = min(best, time.perf_counter() - begun)
        size = len(state.text) if state else 0
    return size, best * 1000


async def plain(browser: Browser, patience: float) -> tuple[int, float] | None:
    tab = await browser.tab()
    begun = time.perf_counter()
    try:
        async with asyncio.timeout(patience):
            text = await tab.page.aria_snapshot(mode="ai", timeout=patience * 1000)
    except (PlaywrightError, TimeoutError):
        return None
    return len(text), (time.perf_counter() - begun) * 1000


async def measure(patience: float) -> list[str]:
    lines = [
        "| page | elements | characters | tokens | ms | `aria_snapshot` tokens | ms |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    with server() as base, tempfile.TemporaryDirectory() as root:
        workspace = Workspace(root)
        workspace.prepare()
        settings = Settings(egress=EgressSettings(allow_private=("127.0.0.1",)))
        session = Session(workspace, settings=settings)
        tool = BrowserUse(session=session)
        for kind in KINDS:
            for size in SIZES:
                await tool.observe(action="go_to_url", url=f"{base}/{kind}/{size}")
                characters, ms = await look(session)
                browser, _ = await obtain_browser(session)
                other = await plain(browser, patience)
                theirs = (
                    f"{other[0] // 4:,} | {other[1]:,.0f}"
                    if other
                    else f"– | > {patience * 1000:,.0f}"
                )
                lines.append(
                    f"| {kind} | {size:,} | {characters:,} | {characters // 4:,} | {ms:,.0f} "
                    f"| {theirs} |"
                )
                print(lines[-1], flush=True)
                if other is None:
                    await session.discard("browser")
        await session.close()
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--patience", type=float, default=60.0, help="seconds for one snapshot")
    parser.add_argument("--out", type=Path, help="a file for the table")
    arguments = parser.parse_args()
    lines = asyncio.run(measure(arguments.patience))
    if arguments.out:
        head = "# What a page costs the model\n\n"
        note = (
            "One look at a loaded page: the browser's state in the next-step prompt beside a plain "
            "`aria_snapshot` of the same page. Tokens are characters by four. "
            "Made by `python -m benchmarks.browser`; the times depend on how busy the machine "
            "was.\n\n"
        )
        arguments.out.write_text(head + note + "\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    main()
