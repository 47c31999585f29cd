"""Size of a thread's file after 200 steps: `python -m benchmarks.checkpoint_size`.

The same task is run by `create_agent` and by `build_agent`, each with LangGraph's saver and ours.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from benchmarks.task import SYSTEM, observation
from manus import build_agent, open_sqlite
from manus.scripted import ScriptedModel, call

STEPS = 200
Open = Callable[[Path], AbstractAsyncContextManager[Any]]
SAVERS: dict[str, Open] = {
    "AsyncSqliteSaver": lambda path: AsyncSqliteSaver.from_conn_string(str(path)),
    "open_sqlite": open_sqlite,
}


@tool
async def look(place: str) -> str:
    """Look at a place."""
    return observation(place)


def build(kind: str, saver: Any) -> Any:
    """Build an agent with a script of 200 steps."""
    model = ScriptedModel()
    replies = [call("look", place=f"place {number}") for number in range(STEPS - 1)]
    model.script(*replies, AIMessage("done"))
    if kind == "create_agent":
        return create_agent(model, [look], system_prompt=SYSTEM, checkpointer=saver)
    return build_agent(model, [look], system_prompt=SYSTEM, checkpointer=saver)


async def measure(kind: str, open_saver: Open, folder: Path) -> float:
    """Return the size in megabytes of a file that contains one thread."""
    path = folder / "threads.db"
    async with open_saver(path) as saver:
        agent = build(kind, saver)
        config = RunnableConfig(configurable={"thread_id": "t"}, recursion_limit=10_000)
        start: Any = {"messages": [{"role": "user", "content": "Look around."}]}
        options: dict[str, Any] = {"durability": "sync"}
        if kind == "build_agent":
            options["context"] = {"max_steps": STEPS + 1, "workspace": str(folder / "w")}
        result = await agent.ainvoke(start, config, **options)
        assert result["messages"][-1].content == "done", result["messages"][-1]
    return path.stat().st_size / 1e6


async def main() -> None:
    print("| agent | " + " | ".join(SAVERS) + " |")
    print("| --- | --- | --- |")
    for kind in ("create_agent", "build_agent"):
        sizes = []
        for open_saver in SAVERS.values():
            with tempfile.TemporaryDirectory() as folder:
                sizes.append(f"{await measure(kind, open_saver, Path(folder)):.1f} MB")
        print(f"| `{kind}` | " + " | ".join(sizes) + " |")


if __name__ == "__main__":
    asyncio.run(main())
