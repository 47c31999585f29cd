"""A run that has ended without success goes on: with new limits, or to try again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langgraph.types import Overwrite

from manus.graph.run_graph import RunGraph

Update = dict[str, Any]


async def reopen(graph: RunGraph, config: RunnableConfig) -> bool:
    """Have the newest run of a thread go on when the graph is next given None.

    An agent thinks again. A flow tries again what was blocked, and begins what had not begun.
    False, and nothing is changed, where the run has not ended or did what was asked.
    """
    values = (await graph.aget_state(config)).values
    if values.get("stop_reason") is None or values.get("success"):
        return False
    update: Update = {"status": "running", "stop_reason": None, "success": None, "output": ""}
    if "executors" in values["run"]:
        node = _reopen_flow(values, update)
    else:
        node = _reopen_agent(values, update)
    await graph.aupdate_state(config, update, as_node=node)
    return True


def _reopen_agent(values: Mapping[str, Any], update: Update) -> str:
    """Add what goes on in an agent to the update: it forgets the loop that it was stuck in."""
    run = {k: v for k, v in values["run"].items() if k not in ("closing", "calls_left")}
    messages = values.get("messages", [])
    if values["stop_reason"] == "error" and not (messages and isinstance(messages[-1], AIMessage)):
        run["step"] -= 1  # the model was asked in vain: the step is still to be taken
    update |= {"run": run, "loop": None}
    if values["stop_reason"] == "stuck":
        update["trail"] = Overwrite([])
    return "stuck_check"


def _reopen_flow(values: Mapping[str, Any], update: Update) -> str:
    """Add what goes on in a flow to the update; the node after which it does."""
    plan, run = values.get("plan"), dict(values["run"])
    if not plan or run["approval"] == "wanted":
        return "plan"
    run.pop("over", None)
    blocked = [i for i, step in enumerate(plan["steps"]) if step["status"] == "blocked"]
    update["run"] = {**run, "revised": []}
    update["plan"] = [{"step": index, "status": "not_started"} for index in blocked]
    return "execute_step"
