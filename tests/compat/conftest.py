"""Agents built the way LangChain users build them, on a scripted model."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage

from manus import build_agent
from manus.graph.run_graph import RunGraph
from manus.scripted import ScriptedModel

Build = Callable[..., RunGraph[Any]]


@pytest.fixture(autouse=True)
def in_an_empty_folder(own_workspace: Path) -> None:
    """Change to an empty folder: the developer's `manus.toml` must not apply."""


@pytest.fixture
def model() -> ScriptedModel:
    return ScriptedModel()


@pytest.fixture
def build(model: ScriptedModel) -> Build:
    """Build an agent whose model returns these replies."""

    def make(*replies: str | AIMessage, tools: Any = (), **keywords: Any) -> RunGraph[Any]:
        model.script(*(AIMessage(r) if isinstance(r, str) else r for r in replies))
        keywords = {"model": model, "system_prompt": "Be brief.", **keywords}
        return build_agent(tools=tools, **keywords)

    return make
