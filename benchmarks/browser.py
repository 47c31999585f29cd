"""What a page costs the model: our text beside Playwright's `aria_snapshot`, on 20 pages.

    python -m benchmarks.browser [--patience SECONDS] [--out FILE]

Tokens are characters by four, as one counts English; times are those of one look at a loaded page,
the best of three. A snapshot that takes longer than the patience is given up.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from pathlib import Path

from playwright.async_api import Error as PlaywrightError

from manus.config.settings import Settings
from manus.execution.session import Session
from manus.execution.workspace import Workspace
from manus.tools.browser.browser import Browser, obtain_browser
from manus.tools.browser.state import browser_state

SIZES = (200, 2_000, 20_000, 50_000)
_DENSE = "<style>a{display:inline-block;width:60px;font-size:9px;overflow:hidden}</style>"
# What comes once, what comes again and again with its number, and how many elements that is.
KINDS: dict[str, tuple[str, str, int]] = {
    "links": ("", "<p><a href=/@>Article number @</a></p>", 2),
    "form": ("", "<div><label>Field @ <input value='value @'></label></div>", 3),
    "table": (
        "<table>",
        "<tr><td>@</td><td>Name @</td><td>7@</td><td><button>Edit</button></td></tr>",
        6,
    ),
    "feed": (
        "",
        "<article><h3>Post @</h3><p>Some words of text about matter @.</p>"
        "<button>Like</button><a href=/c@>Comments</a></article>",
        5,
    ),
    "dense grid": (_DENSE, "<a href=/@>Item @</a>", 1),
}
NOTE = (
    "# What a page costs the model\n\n"
    "One look at a loaded page: the browser's state in the next-step prompt beside a plain "
    "`aria_snapshot` of the same page. Tokens are characters by four. "
    "Made by `python -m benchmarks.browser`; the times depend on how busy the machine was.\n\n"
)


def page(kind: str, size: int) -> str:
    """The HTML of a page with about so many elements."""
    head, part, elements = KINDS[kind]
    return head + "".join(part.replace("@", str(n)) for n in range(size // elements))


async def look(session: Session) -> tuple[int, float]:
    """Characters and milliseconds of one look."""
    best, size = float("inf"), 0
    for _ in range(3):
        begun = time.perf_counter()
        state = await browser_state(session)
        best = min(best, time.perf_counter() - begun)
        size = len(state.text) if state else 0
    return size, best * 1000


async def plain(browser: Browser, patience: float) -> tuple[int, float] | None:
    """The same of Playwright's own snapshot; None if it takes too long."""
    tab = await browser.tab()
    begun = time.perf_counter()
    try:
        async with asyncio.timeout(patience):
            text = await tab.page.aria_snapshot(mode="ai", timeout=patience * 1000)
    except (PlaywrightError, TimeoutError):
        return None
    return len(text), (time.perf_counter() - begun) * 1000


async def measure(patience: float, root: str) -> list[str]:
    lines = [
        "| page | elements | characters | tokens | ms | `aria_snapshot` tokens | ms |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    workspace = Workspace(root)
    workspace.prepare()
    session = Session(workspace, settings=Settings())
    for kind, size in ((kind, size) for kind in KINDS for size in SIZES):
        browser, _ = await obtain_browser(session)
        await (await browser.tab()).page.set_content(page(kind, size))
        characters, ms = await look(session)
        other = await plain(browser, patience)
        theirs = f"– | > {patience * 1000:,.0f}"
        if other is not None:
            theirs = f"{other[0] // 4:,} | {other[1]:,.0f}"
        else:
            await session.discard("browser")
        ours = f"{characters:,} | {characters // 4:,} | {ms:,.0f}"
        lines.append(f"| {kind} | {size:,} | {ours} | {theirs} |")
        print(lines[-1], flush=True)
    await session.close()
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--patience", type=float, default=60.0, help="seconds for one snapshot")
    parser.add_argument("--out", type=Path, help="a file for the table")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as root:
        lines = asyncio.run(measure(arguments.patience, root))
    if arguments.out:
        arguments.out.write_text(NOTE + "\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    main()
