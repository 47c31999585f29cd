"""LangChain's standard tests for tools, run on each of ours."""

import json
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest
from langchain_core.tools import BaseTool
from langchain_tests.integration_tests import ToolsIntegrationTests
from langchain_tests.unit_tests import ToolsUnitTests

from manus.calls.catalog import BUILT_IN
from manus.calls.session import Session
from manus.calls.tool_descriptions import build_example
from manus.config.browser_settings import EgressSettings, SearchSettings
from manus.config.run_settings import resolve_settings
from manus.config.settings import Settings
from tests.browser.site import Answer, Site
from tests.helpers.sandboxes import with_sandbox

EXAMPLES: dict[str, dict[str, Any]] = {
    "ask_human": {"inquire": "Which colour?"},
    "bash": {"command": "echo $((6 * 7))"},
    "browser_use": {"action": "open_tab", "url": "about:blank"},
    "create_chat_completion": {"response": "Forty-two."},
    "data_visualization": {
        "data": "sales.csv",
        "spec": {"mark": "bar", "encoding": {"x": {"field": "place"}, "y": {"field": "n"}}},
    },
    "delegate": {"task": "Count the rows."},
    "make_report": {"markdown": "# Sales"},
    "planning": {"command": "create", "title": "Trip", "steps": ["Pack", "Go"]},
    "python_execute": {"code": "print(6 * 7)"},
    "remember": {"fact": "The user likes otters."},
    "skill": {"name": "web-research"},
    "str_replace_editor": {"command": "view", "path": "sales.csv"},
    "terminate": {"status": "success"},
    "web_search": {"query": "otters"},
}
SLOW = {"browser_use", "data_visualization", "make_report"}
ALONE = sorted(set(EXAMPLES) - {"ask_human", "delegate"} - SLOW)
"""Tools that can be called outside a graph, in less than a second."""


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    """Provide a search engine on loopback."""
    site = Site()
    result = {"title": "Otters", "url": f"{site.base}/otters", "content": "They swim."}
    site.pages["/searx/search"] = Answer(json.dumps({"results": [result]}), type="application/json")
    yield site
    site.close()


class BuiltIn:
    """One of the built-in tools, in a session of its own."""

    @pytest.fixture(autouse=True)
    def prepared(self, chosen: str, session: Session, site: Site) -> None:
        self.session, self.chosen = session, chosen
        settings = Settings(
            search=SearchSettings(engines=("searxng",), searxng_url=f"{site.base}/searx"),
            egress=EgressSettings(allow_private=(site.place,)),
        )
        session.settings = resolve_settings(with_sandbox(settings))
        (session.workspace.root / "sales.csv").write_text("place,n\nPorto,3\nFaro,1\n")

    @property
    def tool_constructor(self) -> type[BaseTool]:
        module, _, name = BUILT_IN[self.chosen].partition(":")
        constructor: type[BaseTool] = getattr(import_module(module), name)
        return constructor

    @property
    def tool_constructor_params(self) -> dict[str, Any]:
        return {"session": self.session}

    @property
    def tool_invoke_params_example(self) -> dict[str, Any]:
        tool = self.tool_constructor(session=self.session)
        return EXAMPLES.get(self.chosen) or build_example(tool.get_input_jsonschema())


@pytest.mark.parametrize("chosen", sorted(BUILT_IN))
class TestUnit(BuiltIn, ToolsUnitTests):
    """Checks that need no call of the tool."""


@pytest.mark.parametrize("chosen", ALONE)
class TestCalled(BuiltIn, ToolsIntegrationTests):
    """Calls with and without a tool call, with and without an event loop."""
