"""The functions of the product that a think step and an act step call.

    python -m benchmarks.step_path [--list]

A scripted run on SQLite; the second step is traced with a profile hook. `--list` names the
functions, module by module. Calls by a library count only if they call into the product.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import threading
from collections import defaultdict
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import manus
from benchmarks.agent_loop import PROFILE
from benchmarks.step_cost import Server
from benchmarks.task import request
from manus.config.context import Context
from manus.graph import build_agent
from manus.threads.sqlite import open_sqlite

_PACKAGE = Path(manus.__file__).parent


class Crossing:
    """The functions entered while a node runs, by node and step."""

    def __init__(self) -> None:
        self.seen: dict[str, list[set[CodeType]]] = defaultdict(list)
        self._now: set[CodeType] | None = None

    def watch(self, frame: FrameType, event: str, _: Any) -> None:
        """Record a call; the hook of every thread."""
        code = frame.f_code
        if event == "call" and self._now is not None and _module(code):
            self._now.add(code)

    def around(self, name: str, node: Any) -> Any:
        """Wrap the node to record the functions that are called while it runs."""

        async def followed(state: Any, runtime: Any, config: Any) -> Any:
            codes: set[CodeType] = set()
            self._now = codes
            self.seen[name].append(codes)
            try:
                return await node(state, runtime, config)
            finally:
                self._now = None

        return followed


def _module(code: CodeType) -> str:
    """Return the product file that contains a function; empty for other code and comprehensions."""
    if code.co_name in ("<module>", "<listcomp>", "<genexpr>", "<dictcomp>", "<setcomp>"):
        return ""
    path = Path(code.co_filename).resolve()
    return str(path.relative_to(_PACKAGE)) if path.is_relative_to(_PACKAGE) else ""


async def follow() -> Crossing:
    """Return the functions of each node in a run of three steps."""
    crossing, server = Crossing(), Server()
    try:
        with tempfile.TemporaryDirectory() as folder:
            async with open_sqlite(Path(folder) / "threads.db") as store:
                graph = build_agent(PROFILE, checkpointer=store.saver)
                for name in ("think", "act"):
                    bound: Any = graph.nodes[name].bound
                    bound.afunc = crossing.around(name, bound.afunc)
                context = Context(
                    workspace=f"{folder}/workspace", model="bench", base_url=f"{server.address}/v1"
                )
                threading.setprofile(crossing.watch)
                sys.setprofile(crossing.watch)
                try:
                    inputs = {"request": request(server.new_run(3))}
                    await graph.ainvoke(
                        inputs, {"configurable": {"thread_id": "t"}}, context=context
                    )
                finally:
                    sys.setprofile(None)
                    threading.setprofile(None)
    finally:
        server.close()
    return crossing


def main() -> None:
    """Print how many functions and modules the second step calls."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--list", action="store_true", help="name the functions")
    args = parser.parse_args()
    for node, steps in asyncio.run(follow()).seen.items():
        modules: dict[str, list[str]] = defaultdict(list)
        for code in steps[1]:
            modules[_module(code)].append(code.co_qualname)
        print(f"{node}: {len(steps[1])} functions in {len(modules)} modules", flush=True)
        for module, functions in sorted(modules.items()) if args.list else ():
            print(f"  {module} ({len(functions)}): {', '.join(sorted(functions))}")


if __name__ == "__main__":
    main()
