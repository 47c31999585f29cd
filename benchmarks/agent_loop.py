"""The same task through the agent graph, with checkpoints in SQLite, `durability="sync"`."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field

from manus import startup

startup.load()  # as the command line starts

from benchmarks.task import NEXT, SYSTEM, observation, request  # noqa: E402
from manus.graph import build_agent  # noqa: E402
from manus.sqlite import open_sqlite  # noqa: E402
from manus.state.context import Context  # noqa: E402
from manus.state.profile import Profile  # noqa: E402
from manus.tools.base import AgentTool, Arguments  # noqa: E402
from manus.tools.locks import Resource  # noqa: E402
from manus.tools.result import Observation  # noqa: E402


class LookArgs(Arguments):
    """Arguments of `look`."""

    place: str = Field(description="Where to look")


class Look(AgentTool):
    """Answers with a kilobyte. It counts as having an effect, so it is journalled as any other."""

    name: str = "look"
    description: str = "Look at a place."
    args_schema: type[BaseModel] = LookArgs

    def resources(self, args: dict[str, Any]) -> frozenset[Resource]:
        return frozenset()

    async def observe(self, place: str, **_: Any) -> Observation:
        return Observation(observation(place))


PROFILE = Profile(
    name="bench",
    description="",
    tools=(Look,),
    system_prompt=SYSTEM,
    next_step_prompt=NEXT,
    max_steps=10_000,
)


async def main(base_url: str, database: str, workspace: str, names: list[str]) -> None:
    """All runs at once, each on a thread of its own, in one file."""
    async with open_sqlite(Path(database)) as store:
        context = Context(workspace=workspace, model="bench", base_url=base_url)
        graph = build_agent(PROFILE, checkpointer=store.saver)

        async def run(name: str) -> str:
            state = await graph.ainvoke(
                {"request": request(name)},
                {"configurable": {"thread_id": name}},
                context=context,
                durability="sync",
            )
            return str(state["output"])

        answers = await asyncio.gather(*(run(name) for name in names))
    assert set(answers) == {"done"}, answers


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]))
