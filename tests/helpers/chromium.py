"""A Chromium that runs already, for those who join it."""

import asyncio
import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.async_api import async_playwright

from manus.tools.browser.engine import _FLAGS, find_browser


async def _bundled() -> str:
    async with async_playwright() as playwright:
        return playwright.chromium.executable_path


@contextmanager
def running_chromium(folder: Path) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """Start Chromium with the flags of our own, and end it; its address and its process."""
    program = find_browser(None, asyncio.run(_bundled()))
    options = ("--headless", "--no-sandbox", "--remote-debugging-port=0", "--disable-dev-shm-usage")
    process = subprocess.Popen(
        [program, *options, *_FLAGS, f"--user-data-dir={folder}"],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )
    assert process.stderr is not None
    try:
        told = filter(re.compile(rb"DevTools listening on").search, process.stderr)
        port = next(told).split(b":")[2].split(b"/")[0].decode()
        yield f"http://127.0.0.1:{port}", process
    finally:
        os.killpg(process.pid, 9)
        process.wait()
        process.stderr.close()
