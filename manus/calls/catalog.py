"""The tool catalog of a run: find tools by name in any letter case, and build their schemas."""

from __future__ import annotations

import difflib
import importlib
import inspect
import json
import logging
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from weakref import WeakKeyDictionary

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool

from manus.calls.base import AgentTool
from manus.calls.invoke import observe_call
from manus.calls.result import Observation
from manus.calls.session import Session
from manus.calls.tool_descriptions import describe_tool, find_our_name, list_tools, normalize_name
from manus.calls.user_tools import is_user_tool, load_user_tool, tool_from_function
from manus.prompts import on_demand as prompts
from manus.state.errors import SettingsError
from manus.state.text import shorten

log = logging.getLogger("manus")

USE_TOOL = "use_tool"
"""The tool that describes and calls the tools on demand."""
_MAX_NAME = 100
"""Maximum length of an unknown name in an error."""


class Catalog:
    """The tools of a profile, in order."""

    def __init__(
        self, tools: Iterable[BaseTool] = (), provider_tools: Iterable[dict[str, Any]] = ()
    ) -> None:
        self._tools: dict[str, BaseTool] = {}
        self.provider_tools = list(provider_tools)
        """Schemas of tools that the model's provider executes, in the provider's format."""
        self._schemas: list[dict[str, Any]] | None = None
        self.on_demand_names: set[str] = set()
        """The lower-case names of the tools on demand, which requests list by name only."""
        for tool in tools:
            self.add(tool)

    def add(self, tool: BaseTool) -> bool:
        """Add a tool; ignore a second one with the same name, with a warning."""
        if tool.name.lower() in self._tools:
            log.warning("a tool named %s already exists; the second one is ignored", tool.name)
            return False
        self._tools[tool.name.lower()] = tool
        self._schemas = None
        return True

    def remove(self, name: str) -> None:
        """Remove the tool with a name, if there is one."""
        self._tools.pop(name.lower(), None)
        self.on_demand_names.discard(name.lower())
        self._schemas = None

    def defer(self, names: Iterable[str], session: Session) -> None:
        """Offer tools on demand: requests list only their names, for `use_tool`.

        Do nothing if the user has a tool named `use_tool`.
        """
        existing = {name.lower() for name in names} & self._tools.keys()
        if not existing:
            return
        dispatcher_class = _load_built_in(_DISPATCHER)
        dispatcher = self._tools.get(USE_TOOL)
        if dispatcher is None:
            self.add(dispatcher_class(session=session, catalog=self))
        elif not isinstance(dispatcher, dispatcher_class):
            return
        self.on_demand_names |= existing
        self._schemas = None

    def find(self, name: str) -> BaseTool | None:
        """Return the tool with a name in any letter case, or None."""
        return self._tools.get(name.lower())

    def names(self) -> list[str]:
        """Return the names of the tools, in order."""
        return [tool.name for tool in self]

    @property
    def on_demand(self) -> list[BaseTool]:
        """Return the tools on demand, in order."""
        return [tool for tool in self if tool.name.lower() in self.on_demand_names]

    def is_on_demand(self, name: str) -> bool:
        """Return whether a tool with this name, in any letter case, is on demand."""
        return name.lower() in self.on_demand_names and name.lower() in self._tools

    def get_parameters(self, tool: BaseTool) -> dict[str, Any]:
        """Return the JSON schema of a tool's arguments."""
        parameters: dict[str, Any] = _build_schema(tool)["function"]["parameters"]
        return parameters

    def describe(self, tool: BaseTool) -> str:
        """Return the full description of a tool on demand, including how to call it."""
        return describe_tool(tool, self.get_parameters(tool))

    def explain_unknown(self, name: str) -> str:
        """Return the error for an unknown name, with a suggestion."""
        label = shorten(name, _MAX_NAME)
        normalized = normalize_name(label)
        our_name = find_our_name(normalized)
        near = difflib.get_close_matches(normalized, list(self._tools), n=1)
        if our_name is not None and normalized not in self._tools:
            near = [our_name] if our_name in self._tools else []
        hint = ""
        if near:
            tool = self._tools[near[0]]
            hint = f" Did you mean `{tool.name}`?"
            if example := getattr(tool, "example", None):
                hint += f" For example: {json.dumps(example)}."
        names = ", ".join(self.names()) or "none"
        return f"There is no tool `{label}`.{hint} The tools are: {names}."

    def schemas(self) -> list[dict[str, Any]]:
        """Return the schemas of the tools for the model; cached.

        The tools on demand are replaced by `use_tool`, which lists their names.
        """
        if self._schemas is None:
            on_demand = self.on_demand
            direct = [tool for tool in self if tool not in on_demand]
            self._schemas = [_build_schema(tool) for tool in direct if tool.name != USE_TOOL]
            if on_demand:
                self._schemas.append(self._dispatcher_schema(on_demand))
            self._schemas += self.provider_tools
        return self._schemas

    def build_schema(self, tool: BaseTool) -> dict[str, Any]:
        """Return the schema of one tool for the model."""
        return _build_schema(tool)

    def _dispatcher_schema(self, on_demand: list[BaseTool]) -> dict[str, Any]:
        parameters = {tool.name: self.get_parameters(tool) for tool in on_demand}
        dispatcher = self._tools[USE_TOOL]
        text = prompts.listing(list_tools(on_demand, parameters))
        schema = _build_schema(dispatcher)
        return {**schema, "function": {**schema["function"], "description": text}}

    async def execute(
        self,
        name: str,
        args: Mapping[str, Any] | None = None,
        *,
        config: RunnableConfig | None = None,
    ) -> Observation:
        """Execute a tool by name; for an unknown name, return an observation that lists the tools.

        This is for Python callers: it uses neither the locks nor the journal of a run.
        """
        tool = self.find(name)
        if tool is None:
            return Observation(self.explain_unknown(name), is_error=True)
        return await observe_call(tool, args or {}, config=config)

    async def execute_all(
        self, args: Mapping[str, Mapping[str, Any]] | None = None
    ) -> list[Observation]:
        """Execute every tool sequentially; `args` maps tool names to arguments."""
        arguments = {name.lower(): values for name, values in (args or {}).items()}
        return [await self.execute(name, arguments.get(name.lower())) for name in self.names()]

    def __iter__(self) -> Iterator[BaseTool]:
        return iter(self._tools.values())

    def __len__(self) -> int:
        return len(self._tools)


# The locations of the built-in tools. A module is imported when a profile needs it.
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
    "recall": "manus.tools.recall:Recall",
    "remember": "manus.tools.remember:Remember",
    "skill": "manus.tools.skill:ReadSkill",
    "str_replace_editor": "manus.tools.str_replace_editor:StrReplaceEditor",
    "terminate": "manus.tools.terminate:Terminate",
    "web_search": "manus.tools.web_search:WebSearch",
}

_DISPATCHER = "manus.tools.use_tool:UseTool"
MCP = "mcp"
_SCHEMA_CACHE: WeakKeyDictionary[type, dict[tuple[str, str], dict[str, Any]]] = WeakKeyDictionary()
"""Cache of the schemas of our tools: building one takes a millisecond."""


def _build_schema(tool: BaseTool) -> dict[str, Any]:
    if not isinstance(tool, AgentTool) or not isinstance(tool.args_schema, type):
        return convert_to_openai_tool(tool)
    schemas = _SCHEMA_CACHE.setdefault(tool.args_schema, {})
    key = (tool.name, tool.description)
    if key not in schemas:
        schemas[key] = _shorten(convert_to_openai_tool(tool))
    return schemas[key]


def _shorten(schema: Any) -> Any:
    """Copy a schema without what only costs tokens: titles, and the null of optional arguments."""
    if isinstance(schema, list):
        return [_shorten(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    shorter = {name: _shorten(part) for name, part in schema.items()}
    if isinstance(shorter.get("title"), str):  # otherwise it is a property named `title`
        del shorter["title"]
    match shorter:
        case {"anyOf": [*members, {"type": "null"}], "default": None}:
            del shorter["anyOf"], shorter["default"]
            return {**members[0], **shorter} if len(members) == 1 else {"anyOf": members, **shorter}
    return shorter


def asks_for_mcp(entry: Any) -> bool:
    """Return whether an entry of a profile's tools means the tools of the MCP servers."""
    return isinstance(entry, str) and entry.lower() == MCP


def build_catalog(
    entries: Iterable[Any], session: Session, on_demand: Iterable[str] = ()
) -> Catalog:
    """Build the catalog of a session; tools named in `on_demand` are offered by name only.

    An entry is the name of a built-in tool, a LangChain tool, a class of ours, a function or bound
    method whose docstring and type hints describe it, or `MODULE:NAME` of one of these. `mcp`
    means the tools of all configured MCP servers, which `load_mcp_tools` adds when they are first
    needed. A dict, such as `{"type": "web_search"}`, is a tool that the model's provider executes;
    it is sent unchanged.

    Raises:
        SettingsError: an entry is none of these.
    """
    tools: list[BaseTool] = []
    provider_tools: list[dict[str, Any]] = []
    for entry in entries:
        if isinstance(entry, dict):
            provider_tools.append(entry)
        elif not asks_for_mcp(entry):
            tools.append(_make_tool(entry, session))
    catalog = Catalog(tools, provider_tools)
    catalog.defer(on_demand, session)
    return catalog


def _make_tool(entry: Any, session: Session) -> BaseTool:
    target = resolve_entry(entry) if isinstance(entry, str) else entry
    if isinstance(target, BaseTool):
        return target
    if inspect.isroutine(target):
        return tool_from_function(target)
    if not _is_tool_class(target):
        target = _load_built_in(_find_built_in(target))
    tool: BaseTool = target(session=session)
    return tool


def _load_built_in(location: str) -> Any:
    module, _, name = location.partition(":")
    return getattr(importlib.import_module(module), name)


def resolve_entry(name: str) -> Any:
    """Return a configured name, or the object that `MODULE:NAME` refers to.

    Raises:
        SettingsError: the object does not exist, or is not a tool.
    """
    if asks_for_mcp(name):
        return MCP
    if not is_user_tool(name):
        _find_built_in(name)
        return name
    target = load_user_tool(name)
    if inspect.isroutine(target):
        tool_from_function(target)
    elif not (isinstance(target, BaseTool) or _is_tool_class(target)):
        raise SettingsError(
            f"`{name}` is of the type `{type(target).__name__}`, not a tool; "
            "name a function or a LangChain tool."
        )
    return target


def entry_name(entry: Any) -> str:
    """Return the name of an entry's tool without building the tool."""
    if isinstance(entry, BaseTool):
        return entry.name
    if _is_tool_class(entry):
        return str(entry.model_fields["name"].default)
    if isinstance(entry, dict):
        return str(entry.get("name") or entry.get("type") or "a tool of the provider")
    return str(getattr(entry, "__name__", entry))


def _is_tool_class(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, AgentTool)


def _find_built_in(entry: Any) -> str:
    """Return the location of a built-in tool, or raise `SettingsError` with a suggestion."""
    location = BUILT_IN.get(str(entry).lower())
    if location is None:
        near = difflib.get_close_matches(str(entry).lower(), BUILT_IN, n=1)
        hint = f" Did you mean `{near[0]}`?" if near else ""
        names = ", ".join([*BUILT_IN, MCP])
        raise SettingsError(f"There is no tool `{entry}`.{hint} The tools are: {names}.")
    return location
