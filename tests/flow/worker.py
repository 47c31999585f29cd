"""A process of its own that works on a flow, to be killed: `python -m tests.flow.worker …`."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from manus.graph import build_flow
from manus.sqlite import open_sqlite
from manus.state.context import Context
from tests.flow.helpers import SECOND
from tests.helpers.agent import TESTER, thread_config


async def main(database: str, workspace: str, base_url: str, request: str, chosen: str) -> None:
    """Begin a run on the thread `t`; an empty request goes on with it."""
    given: Any = {"request": request} if request else None
    given_context = {"workspace": workspace, "model": "scripted", "base_url": base_url}
    context = Context(**{**given_context, **json.loads(chosen)})
    async with open_sqlite(Path(database)) as saver:
        flow = build_flow((TESTER, SECOND), checkpointer=saver)
        await flow.ainvoke(given, thread_config("t"), context=context, durability="sync")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
