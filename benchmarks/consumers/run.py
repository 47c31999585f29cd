"""Run the checks of one framework in this environment; print the results as JSON."""

from __future__ import annotations

import asyncio
import importlib
import json
import sys

NAMES = {
    "langgraph-supervisor": "teams",
    "langgraph-swarm": "teams",
    "create_agent": "teams",
    "ag-ui-langgraph": "ag_ui",
    "inspect-ai": "inspect_bridge",
    "harbor": "harbor_runner",
    "deepagents-acp": "acp",
}
"""The module of this package with the checks of a framework."""


def main() -> None:
    """Run the checks of the framework that the command line names."""
    name = sys.argv[1]
    module = importlib.import_module(f"benchmarks.consumers.{NAMES[name]}")
    print(json.dumps(asyncio.run(module.run(name))))


if __name__ == "__main__":
    main()
