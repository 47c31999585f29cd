"""The configuration with which a run is started."""

from __future__ import annotations

from typing import Any

from langchain_core.runnables import RunnableConfig

from manus.graph.journal_check import MARK
from manus.nodes.active_run import KEY, ActiveRun, RunReference

_SERVED = frozenset({"assistant_id", "langgraph_auth_user"})
"""Keys that only servers add to a configuration; Aegra adds the second."""
_SUPERSTEPS = 1_000_000
"""Recursion limit, so high that the step budget ends a run, not LangGraph."""


def is_served(config: RunnableConfig) -> bool:
    """Return whether LangGraph's server, or another one with its API, runs the graph."""
    return not _SERVED.isdisjoint(config.get("configurable", {}))


def build_run_config(
    config: RunnableConfig,
    configurable: dict[str, Any],
    active_run: ActiveRun,
    recursion_limit: int | None,
) -> RunnableConfig:
    """Return the configuration with the active run, and its journal in the metadata."""
    if recursion_limit is None:
        recursion_limit = _SUPERSTEPS
    metadata = {**config.get("metadata", {}), MARK: active_run.session.journal.id}
    if active_run.agent_options.name:
        metadata["lc_agent_name"] = active_run.agent_options.name
    return {
        **config,
        "configurable": {**configurable, KEY: RunReference(active_run)},
        "metadata": metadata,
        "recursion_limit": recursion_limit,
    }
