"""The task run by the agent graph, with checkpoints in SQLite and `durability="sync"`.

With `--streamed`, tokens and events are streamed, as `manus run` does on a terminal.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from langchain_core.runnables import RunnableConfig

from manus.cli import startup

startup.load()  # as the command line does at startup

from benchmarks.task import NEXT, SYSTEM, look, request  # noqa: E402
from manus.config.context import Context  # noqa: E402
from manus.config.profile import Profile  # noqa: E402
from manus.graph import build_agent  # noqa: E402
from manus.threads.sqlite import open_sqlite  # noqa: E402

PROFILE = Profile(
    name="bench",
    description="",
    tools=(look,),
    system_prompt=SYSTEM,
    next_step_prompt=NEXT,
    max_steps=10_000,
)


async def main(base_url: str, database: str, workspace: str, *names: str, streamed: bool) -> None:
    """Execute all runs concurrently, each on its own thread, in one file."""
    async with open_sqlite(Path(database)) as store:
        context = Context(workspace=workspace, model="bench", base_url=base_url)
        graph = build_agent(PROFILE, checkpointer=store.saver)

        async def run(name: str) -> str:
            inputs, options = {"request": request(name)}, {"context": context, "durability": "sync"}
            config = RunnableConfig(configurable={"thread_id": name})
            if not streamed:
                return str((await graph.ainvoke(inputs, config, **options))["output"])
            options |= {"stream_mode": ["custom", "messages"], "subgraphs": True}
            async for _ in graph.astream(inputs, config, **options):
                pass
            return str((await graph.aget_state(config)).values["output"])

        answers = await asyncio.gather(*(run(name) for name in names))
    assert set(answers) == {"done"}, answers


if __name__ == "__main__":
    args = [arg for arg in sys.argv[1:] if arg != "--streamed"]
    asyncio.run(main(*args, streamed="--streamed" in sys.argv))
