"""How long it takes to write the report on a long run, and to open it in a browser.

    python -m benchmarks.report [--repeat 5]

Real runs of the agent graph against a scripted model, with observations of one and of ten
kilobytes. Each opening is in a fresh browser context, from a file, until the page is loaded and
until its first text is painted. Writes `benchmarks/report.md`.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from playwright.async_api import Browser, async_playwright
from typing_extensions import override

from benchmarks.agent_loop import PROFILE, Look
from benchmarks.step_cost import Server
from benchmarks.task import observation, request
from manus.graph import build_agent
from manus.run_report.page import page
from manus.sqlite import open_sqlite
from manus.state.context import Context
from manus.tools.browser.find import find_browser
from manus.tools.result import Observation
from manus.trace.reading import read_trace

_CASES = ((50, 1), (200, 1), (200, 10), (1_000, 1))
"""Steps, and kilobytes of an observation."""
_TIMES = """() => {
  const paint = performance.getEntriesByName("first-contentful-paint")[0];
  const loaded = performance.getEntriesByType("navigation")[0];
  return [paint ? paint.startTime : 0, loaded.loadEventEnd];
}"""


class LookLong(Look):
    """Answers with ten kilobytes."""

    @override
    async def observe(self, place: str, **_: Any) -> Observation:
        return Observation("\n".join(observation(f"{place} {part}") for part in range(10))[:9_900])


@dataclass(frozen=True)
class Row:
    """One case. Seconds to write the page; milliseconds of each opening."""

    steps: int
    kilobytes: int
    size: int
    written: float
    painted: list[float]
    loaded: list[float]

    def __str__(self) -> str:
        painted, loaded = statistics.median(self.painted), statistics.median(self.loaded)
        return (
            f"| {self.steps:,} | {self.kilobytes} kB | {self.size / 1e6:.1f} MB "
            f"| {self.written:.1f} s | {painted:.0f} ms | {loaded:.0f} ms "
            f"| {max(self.loaded):.0f} ms |"
        )


async def _written(folder: Path, address: str, steps: int, kilobytes: int) -> tuple[Path, float]:
    """The page of a run, and the seconds from the store to the file."""
    tools = (LookLong,) if kilobytes > 1 else (Look,)
    name = f"report{steps}x{kilobytes}"
    async with open_sqlite(folder / f"{name}.sqlite") as store:
        graph = build_agent(replace(PROFILE, tools=tools), checkpointer=store.saver)
        context = Context(workspace=str(folder / name), model="bench", base_url=address)
        asked = request(f"run {name} of {steps} steps, 0 ms")
        config: Any = {"configurable": {"thread_id": name}}
        await graph.ainvoke({"request": asked}, config, context=context, durability="sync")
        began = time.perf_counter()
        html = page(await read_trace(store.saver, name))
    path = folder / f"{name}.html"
    path.write_text(html, "utf-8")
    return path, time.perf_counter() - began


async def _opened(browser: Browser, path: Path) -> tuple[float, float]:
    """Milliseconds until the first text is painted, and until all is loaded."""
    context = await browser.new_context(viewport={"width": 1440, "height": 900})
    try:
        view = await context.new_page()
        await view.goto(path.as_uri())
        painted, loaded = await view.evaluate(_TIMES)
        return float(painted), float(loaded)
    finally:
        await context.close()


async def _measure(repeat: int) -> tuple[list[Row], str]:
    rows = []
    with tempfile.TemporaryDirectory() as made:
        server = Server()
        async with async_playwright() as playwright:
            program = find_browser(None, playwright.chromium.executable_path)
            browser = await playwright.chromium.launch(executable_path=program)
            for steps, kilobytes in _CASES:
                path, written = await _written(Path(made), server.address, steps, kilobytes)
                times = [await _opened(browser, path) for _ in range(repeat)]
                painted, loaded = (list(part) for part in zip(*times, strict=True))
                size = path.stat().st_size
                rows.append(Row(steps, kilobytes, size, written, painted, loaded))
                print(rows[-1], flush=True)
            version = browser.version
            await browser.close()
        server.close()
    return rows, version


def main() -> None:
    """Measure, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--repeat", type=int, default=5)
    repeat = parser.parse_args().repeat
    load = os.getloadavg()[0]
    rows, version = asyncio.run(_measure(repeat))
    text = "\n".join(
        (
            "# What a report costs",
            "",
            "The report on a real run of the agent graph against a scripted model: written from "
            f"the store, and opened from its file in Chromium {version}, each time in a fresh "
            f"context; medians of {repeat}, on {os.cpu_count()} cores with a load of {load:.1f} "
            "before. Made by `python -m benchmarks.report`.",
            "",
            "| steps | an observation | page | written in | first text after | loaded after "
            "| slowest |",
            "| ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
            *map(str, rows),
            "",
        )
    )
    (Path(__file__).parent / "report.md").write_text(text, "utf-8")


if __name__ == "__main__":
    main()
