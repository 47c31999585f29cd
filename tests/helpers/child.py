"""An agent in a process of its own, to be killed: `python -m tests.helpers.child JSON`."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from manus.graph import build_agent
from manus.sqlite import open_sqlite
from manus.state.context import Context
from tests.helpers.agent import CONSULTER, TESTER, thread_config


async def main(
    database: Path, context: dict[str, Any], given: dict[str, Any] | None, consults: bool = False
) -> None:
    """Run, or go on with, the thread `t` of the profile for tests."""
    async with open_sqlite(Path(database)) as saver:
        graph = build_agent(CONSULTER if consults else TESTER, checkpointer=saver)
        await graph.ainvoke(given, thread_config("t"), context=Context(**context))


if __name__ == "__main__":
    asyncio.run(main(**json.loads(sys.argv[1])))
