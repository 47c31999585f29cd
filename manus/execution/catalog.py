"""The tools of one run: found by name in any letter case, added, described to the model."""

from __future__ import annotations

import difflib
import importlib
import inspect
import logging
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from weakref import WeakKeyDictionary

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool

from manus.execution.base import AgentTool
from manus.execution.invoke import observe_call
from manus.execution.result import Observation
from manus.execution.session import Session
from manus.execution.user_tools import from_function, is_own, load_own
from manus.state.errors import SettingsError
from manus.state.text import shorten

log = logging.getLogger("manus")

_SHOWN = 100
"""Characters shown of a name that is not there."""


class Catalog:
    """A profile's tools, in order."""

    def __init__(
        self, tools: Iterable[BaseTool] = (), provider_tools: Iterable[dict[str, Any]] = ()
    ) -> None:
        self._tools: dict[str, BaseTool] = {}
        self._provider_tools = list(provider_tools)
        """Tools that the model's provider executes, as the provider wants them described."""
        self._schemas: list[dict[str, Any]] | None = None
        for tool in tools:
            self.add(tool)

    def add(self, tool: BaseTool) -> bool:
        """Add a tool. A second one of a name is refused with a warning; the first stays."""
        if tool.name.lower() in self._tools:
            log.warning("a tool named %s is there already; the second one is left out", tool.name)
            return False
        self._tools[tool.name.lower()] = tool
        self._schemas = None
        return True

    def remove(self, name: str) -> None:
        """Take a tool out; nothing if there is none of that name."""
        self._tools.pop(name.lower(), None)
        self._schemas = None

    def find(self, name: str) -> BaseTool | None:
        """The tool of that name, in any letter case."""
        return self._tools.get(name.lower())

    def names(self) -> list[str]:
        """The names, in order."""
        return [tool.name for tool in self]

    def unknown(self, name: str) -> str:
        """What to say of a name that is not there."""
        shown = shorten(name, _SHOWN)
        near = difflib.get_close_matches(shown.lower(), list(self._tools), n=1)
        hint = f" Did you mean `{self._tools[near[0]].name}`?" if near else ""
        known = ", ".join(self.names()) or "none"
        return f"There is no tool `{shown}`.{hint} The tools are: {known}."

    def schemas(self) -> list[dict[str, Any]]:
        """The tools as the model is told of them; computed once."""
        if self._schemas is None:
            self._schemas = [*(_schema_of(tool) for tool in self), *self._provider_tools]
        return self._schemas

    async def execute(
        self,
        name: str,
        args: Mapping[str, Any] | None = None,
        *,
        config: RunnableConfig | None = None,
    ) -> Observation:
        """Execute one tool by name; an unknown name is an observation that lists the known ones.

        For Python callers: without the locks and the journal of a run.
        """
        tool = self.find(name)
        if tool is None:
            return Observation(self.unknown(name), is_error=True)
        return await observe_call(tool, args or {}, config=config)

    async def execute_all(
        self, args: Mapping[str, Mapping[str, Any]] | None = None
    ) -> list[Observation]:
        """Execute every tool, one after the other in order; `args` by the tools' names."""
        given = {name.lower(): values for name, values in (args or {}).items()}
        return [await self.execute(name, given.get(name.lower())) for name in self.names()]

    def __iter__(self) -> Iterator[BaseTool]:
        return iter(self._tools.values())

    def __len__(self) -> int:
        return len(self._tools)


# Where the built-in tools are; a tool's module is imported when a profile has it.
BUILT_IN = {
    "ask_human": "manus.tools.ask_human:AskHuman",
    "bash": "manus.tools.bash:Bash",
    "browser_use": "manus.tools.browser_use:BrowserUse",
    "create_chat_completion": "manus.tools.create_chat_completion:CreateChatCompletion",
    "data_visualization": "manus.tools.data_visualization:DataVisualization",
    "delegate": "manus.tools.delegate:Delegate",
    "make_report": "manus.tools.make_report:MakeReport",
    "planning": "manus.tools.planning:Planning",
    "python_execute": "manus.tools.python_execute:PythonExecute",
    "remember": "manus.tools.remember:Remember",
    "skill": "manus.tools.skill:ReadSkill",
    "str_replace_editor": "manus.tools.str_replace_editor:StrReplaceEditor",
    "terminate": "manus.tools.terminate:Terminate",
    "web_search": "manus.tools.web_search:WebSearch",
}

MCP = "mcp"
_OWN: WeakKeyDictionary[type, dict[tuple[str, str], dict[str, Any]]] = WeakKeyDictionary()
"""Schemas of our tools by their arguments: to make one takes a millisecond."""


def _schema_of(tool: BaseTool) -> dict[str, Any]:
    if not isinstance(tool, AgentTool) or not isinstance(tool.args_schema, type):
        return convert_to_openai_tool(tool)
    known, described = _OWN.setdefault(tool.args_schema, {}), (tool.name, tool.description)
    if described not in known:
        known[described] = _without_null(convert_to_openai_tool(tool))
    return known[described]


def _without_null(schema: Any) -> Any:
    """A copy in which what may be left out is not said to be null, too; it costs tokens."""
    if isinstance(schema, list):
        return [_without_null(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    made = {name: _without_null(part) for name, part in schema.items()}
    match made:
        case {"anyOf": [member, {"type": "null"}], "default": None}:
            rest = {name: made[name] for name in made if name not in ("anyOf", "default")}
            return {**member, **rest}
    return made


def asks_for_mcp(entry: Any) -> bool:
    """Whether an entry of a profile's tools stands for those of the MCP servers."""
    return isinstance(entry, str) and entry.lower() == MCP


def build_catalog(entries: Iterable[Any], session: Session) -> Catalog:
    """The catalogue of a session.

    An entry is the name of a built-in tool, a LangChain tool, a class of ours, a function or bound
    method whose docstring and type hints describe it, or `MODULE:NAME` of one of these. `mcp`
    stands for the tools of all configured MCP servers, which `load_mcp_tools` adds when they are
    first needed. A dict, such as `{"type": "web_search"}`, is a tool that the model's provider
    executes; the model is given it as it is.

    Raises:
        SettingsError: an entry is none of these.
    """
    wanted = [entry for entry in entries if not asks_for_mcp(entry)]
    provided = [entry for entry in wanted if isinstance(entry, dict)]
    made = (_make(entry, session) for entry in wanted if not isinstance(entry, dict))
    return Catalog(made, provided)


def _make(entry: Any, session: Session) -> BaseTool:
    found = as_entry(entry) if isinstance(entry, str) else entry
    if isinstance(found, BaseTool):
        return found
    if inspect.isroutine(found):
        return from_function(found)
    if not _is_tool_class(found):
        module, _, name = _place(found).partition(":")
        found = getattr(importlib.import_module(module), name)
    made: BaseTool = found(session=session)
    return made


def as_entry(name: str) -> Any:
    """The entry that a name in the configuration means: itself, or what `MODULE:NAME` names.

    Raises:
        SettingsError: there is no such tool, or it is none.
    """
    if asks_for_mcp(name):
        return MCP
    if not is_own(name):
        _place(name)
        return name
    found = load_own(name)
    if inspect.isroutine(found):
        from_function(found)
    elif not (isinstance(found, BaseTool) or _is_tool_class(found)):
        raise SettingsError(
            f"`{name}` is no tool but of the type `{type(found).__name__}`; "
            "name a function, or a LangChain tool."
        )
    return found


def entry_name(entry: Any) -> str:
    """The name under which the model will know an entry's tool. Builds no tool."""
    if isinstance(entry, BaseTool):
        return entry.name
    if _is_tool_class(entry):
        return str(entry.model_fields["name"].default)
    if isinstance(entry, dict):
        return str(entry.get("name") or entry.get("type") or "a tool of the provider")
    return str(getattr(entry, "__name__", entry))


def _is_tool_class(found: Any) -> bool:
    return isinstance(found, type) and issubclass(found, AgentTool)


def _place(entry: Any) -> str:
    """Where the built-in tool of a name is."""
    place = BUILT_IN.get(str(entry).lower())
    if place is None:
        near = difflib.get_close_matches(str(entry).lower(), BUILT_IN, n=1)
        hint = f" Did you mean `{near[0]}`?" if near else ""
        known = ", ".join([*BUILT_IN, MCP])
        raise SettingsError(f"There is no tool `{entry}`.{hint} Known are: {known}.")
    return place
