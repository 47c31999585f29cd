"""The same task run by LangChain's `create_agent`, also with checkpoints in SQLite."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from langchain.agents import create_agent
from langchain_core.runnables import RunnableConfig
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from benchmarks.task import SYSTEM, look, request


async def main(base_url: str, database: str, names: list[str]) -> None:
    """Execute all runs concurrently, each on its own thread, in one file."""
    options: Any = {"model": "bench", "base_url": base_url, "api_key": "none", "max_retries": 0}
    model = ChatOpenAI(**options)
    async with AsyncSqliteSaver.from_conn_string(database) as saver:
        graph = create_agent(model, [look], system_prompt=SYSTEM, checkpointer=saver)

        async def run(name: str) -> str:
            config = RunnableConfig(configurable={"thread_id": name}, recursion_limit=10_000)
            start: Any = {"messages": [{"role": "user", "content": request(name)}]}
            state = await graph.ainvoke(start, config, durability="sync")
            return str(state["messages"][-1].content)

        answers = await asyncio.gather(*(run(name) for name in names))
    assert set(answers) == {"done"}, answers


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[4:]))
