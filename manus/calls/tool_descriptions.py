"""Describe tools to a model: by name, in one line, or in full with an example call."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any

from langchain_core.tools import BaseTool

from manus.calls.base import AgentTool
from manus.prompts import on_demand as prompts
from manus.prompts.sources import framed
from manus.state.text import one_line

_MAX_SUMMARY = 90
_MAX_LISTING = 6_000
"""Maximum length of the list of one server's tools; a longer one consists of names only."""
_MAX_ARGUMENTS = 4
"""Maximum number of required arguments that the list names."""
_MAX_DEPTH = 4
"""Maximum number of levels of nested objects in an example."""
_IDENTIFIER = re.compile(r"[A-Za-z_]\w{0,30}")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s")

Schema = Mapping[str, Any]

_NAMES = {
    "bash": (
        "shell terminal sh cmd command console exec execute run run_command run_shell "
        "run_shell_command run_terminal_cmd run_terminal_command run_in_terminal execute_bash "
        "execute_command execute_shell execute_shell_command exec_command shell_command "
        "local_shell bash_tool bash_command shell_tool shell_exec terminal_command "
        "grep glob ls list_dir list_directory list_files find_files search_files grep_search "
        "file_search codebase_search git"
    ),
    "python_execute": (
        "python python3 py ipython jupyter run_python execute_python execute_code run_code "
        "code_interpreter python_interpreter python_repl python_tool execute_ipython_cell "
        "code_execution run_python_code notebook"
    ),
    "str_replace_editor": (
        "edit editor write read view read_file write_file edit_file create_file view_file "
        "open_file cat_file str_replace str_replace_based_edit_tool text_editor file_editor "
        "replace_in_file write_to_file search_replace replace insert multi_edit apply_patch "
        "update_file file_write file_read file_saver"
    ),
    "terminate": (
        "finish done submit complete end stop exit quit final_answer answer_user "
        "attempt_completion task_complete complete_task finish_task end_task task_done return"
    ),
    "web_search": (
        "search search_web google google_search search_google internet_search websearch "
        "duckduckgo duckduckgo_search tavily_search brave_search bing_search"
    ),
    "browser_use": (
        "browser browse navigate goto go_to_url open_url visit visit_page visit_webpage "
        "web_fetch fetch fetch_url fetch_webpage fetch_content read_url read_web_page scrape crawl "
        "browser_navigate browser_click browser_action computer_use"
    ),
    "ask_human": (
        "ask ask_user ask_question ask_user_question ask_followup_question user_input "
        "human_input request_user_input clarify message_ask_user"
    ),
    "planning": "plan planner update_plan create_plan todo todos todo_write write_todos todo_list",
    "delegate": "task agent subagent sub_agent spawn_agent dispatch_agent new_task run_subagent",
    "remember": "memory memorize save_memory add_memory store_memory update_memory",
    "skill": "skills use_skill load_skill read_skill get_skill",
    "data_visualization": "chart plot visualize create_chart plot_chart draw_chart",
    "make_report": "report write_report create_report",
}
_OURS = {other: name for name, others in _NAMES.items() for other in others.split()}
_WORD_START = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def list_tools(tools: Iterable[BaseTool], parameters: Mapping[str, Schema]) -> str:
    """Return the list of tools, one per line; those of a server are framed as untrusted text.

    `parameters` has the JSON schema of each tool's arguments by name.
    """
    sections = []
    for origin, group in groupby(tools, key=_get_origin):
        members = list(group)
        lines = [_describe_briefly(tool, parameters[tool.name]) for tool in members]
        text = "\n".join(lines)
        if len(text) > _MAX_LISTING:
            text = ", ".join(tool.name for tool in members)
        sections.append(framed(text, origin))
    return "\n".join(sections)


def _get_origin(tool: BaseTool) -> str:
    return tool.origin if isinstance(tool, AgentTool) else ""


def _describe_briefly(tool: BaseTool, parameters: Schema) -> str:
    """Return one line with a tool's name, its required arguments, and a summary."""
    names = list_named_arguments(parameters)
    if len(parameters.get("properties", ())) > len(names):
        names.append("…")
    return f"- {tool.name}({', '.join(names)}): {_summarize(tool)}"


def list_named_arguments(parameters: Schema) -> list[str]:
    """Return the arguments that the line of a tool names: the first required ones."""
    required = [name for name in parameters.get("required", ()) if _IDENTIFIER.fullmatch(name)]
    return required[:_MAX_ARGUMENTS]


def _summarize(tool: BaseTool) -> str:
    """Return a tool's own summary, or the first sentence of its description."""
    if isinstance(tool, AgentTool) and tool.summary:
        return tool.summary
    text = (isinstance(tool, AgentTool) and tool.raw_description) or tool.description
    return one_line(_SENTENCE_END.split(text.strip(), maxsplit=1)[0], _MAX_SUMMARY)


def describe_tool(tool: BaseTool, parameters: Schema) -> str:
    """Return the description of a tool, the schema of its arguments, and an example of a call."""
    example = tool.example if isinstance(tool, AgentTool) else None
    if example is None:
        example = build_example(parameters)
    return prompts.description(
        tool.name,
        tool.description,
        _to_json(parameters),
        _to_json({"name": tool.name, "arguments": example}),
    )


def _to_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def build_example(schema: Schema, root: Schema | None = None, depth: int = 0) -> Any:
    """Return a value that fits a JSON schema; objects have their required properties."""
    root = root or schema
    schema = _resolve(schema, root)
    for key in ("enum", "examples"):
        if isinstance(schema.get(key), list) and schema[key]:
            return schema[key][0]
    for key in ("const", "default"):
        if schema.get(key) is not None:
            return schema[key]
    for key in ("anyOf", "oneOf"):
        members = [m for m in schema.get(key, ()) if m.get("type") != "null"]
        if members and depth < _MAX_DEPTH:
            return build_example(members[0], root, depth + 1)
    match schema.get("type"):
        case "object" | None if depth < _MAX_DEPTH:
            properties = schema.get("properties", {})
            required = [name for name in schema.get("required", ()) if name in properties]
            return {name: build_example(properties[name], root, depth + 1) for name in required}
        case "array" if depth < _MAX_DEPTH:
            return [build_example(schema.get("items") or {"type": "string"}, root, depth + 1)]
        case "integer" | "number":
            return schema.get("minimum", 1)
        case "boolean":
            return True
    return "…"


def _resolve(schema: Schema, root: Schema) -> Schema:
    """Return the definition that a schema refers to, or the schema itself."""
    reference = schema.get("$ref")
    if not isinstance(reference, str) or not reference.startswith("#/"):
        return schema
    target: Any = root
    for key in reference[2:].split("/"):
        target = target.get(key, {}) if isinstance(target, Mapping) else {}
    return target if isinstance(target, Mapping) else {}


def normalize_name(name: str) -> str:
    """Return a tool's name in snake case, without the namespace prefix that some models add."""
    bare_name = re.split(r"[./:]", name.strip())[-1]
    return _WORD_START.sub("_", bare_name).lower().replace("-", "_")


def find_our_name(name: str) -> str | None:
    """Return our name of a tool, given another agent's normalized name; None if unknown."""
    return _OURS.get(name)
