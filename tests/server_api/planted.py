"""A graph whose tool blocks the event loop, put into a server to see that this is noticed."""

import time

from langchain_core.tools import tool

from manus.graph import build_agent
from manus.state.profile import Profile


@tool
async def nap() -> str:
    """Sleep where everybody else has to wait for it."""
    time.sleep(0.01)
    return "slept"


graph = build_agent(Profile("planted", "Blocks.", (nap, "terminate"), "You work.", "What next?"))
