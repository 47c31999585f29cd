"""Graphs for Harbor's built-in agent `langgraph`: `--ak project_path=integrations/harbor`."""

from __future__ import annotations

from typing import Any

from manus import build_agent


def agent(config: dict[str, Any]) -> Any:
    """Return the general agent with the model that Harbor names."""
    return _build("manus", config)


def swe(config: dict[str, Any]) -> Any:
    """Return the agent with a shell and an editor, with the model that Harbor names."""
    return _build("swe", config)


def _build(profile: str, config: dict[str, Any]) -> Any:
    graph = build_agent(profile, model=config["configurable"].get("model"))
    graph.is_named_in_file = True  # as in langgraph.json: it works in the current folder
    return graph
