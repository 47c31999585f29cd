"""The graphs that the instances serve: an agent and a flow of manus, and `create_agent`.

Aegra loads this module by its path.
"""

from __future__ import annotations

import os
from typing import Any

from langchain.agents import create_agent
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.types import interrupt

from benchmarks.served.tools import PROFILE, append_line
from manus import build_agent, build_flow


@tool("append")
async def append_tool(run: str, number: int) -> str:
    """Append a number to the file of a run."""
    return await append_line(run, number)


@tool("ask_human")
def ask_tool(inquire: str) -> str:
    """Ask the user a question."""
    return str(interrupt(inquire))


# without streaming: the scripted model replies in one piece
_OPTIONS: Any = {
    "model": "scripted",
    "base_url": os.environ["MANUS_BASE_URL"],
    "api_key": "none",
    "disable_streaming": True,
}
_MODEL = ChatOpenAI(**_OPTIONS)

agent = build_agent(PROFILE)
flow = build_flow((PROFILE,))
langchain_agent = create_agent(_MODEL, [append_tool, ask_tool], system_prompt="You append numbers.")
