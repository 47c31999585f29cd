"""Graphs for Harbor's built-in agent `langgraph`: `--ak project_path=integrations/harbor`."""

from __future__ import annotations

from typing import Any

from manus import build_agent


def agent(config: dict[str, Any]) -> Any:
    """Return the general agent with the model that Harbor names."""
    return build_agent("manus", model=config["configurable"].get("model"))


def swe(config: dict[str, Any]) -> Any:
    """Return the agent with a shell and an editor, with the model that Harbor names."""
    return build_agent("swe", model=config["configurable"].get("model"))
