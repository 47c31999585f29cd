"""A general agent as LangGraph graphs: `from manus import build_agent, build_flow`.

Example:
    from manus import Context, build_agent

    agent = build_agent()
    context = Context(workspace="site", max_steps=30)
    result = agent.invoke({"request": "Write a page about tea."}, context=context)
    print(result["output"])

All names are imported on first use, so that `import manus` stays fast.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from manus.version import VERSION

if TYPE_CHECKING:
    from manus.calls.invoke import observe_call
    from manus.calls.user_tools import tool_from_function
    from manus.config.context import Context
    from manus.config.profile import Profile
    from manus.graph.agent import build_agent
    from manus.graph.flow import build_flow
    from manus.graph.inbox import list_messages, send_message, withdraw_message
    from manus.graph.profiles import PROFILES, all_executors, all_profiles
    from manus.runs.time_travel import fork, history, rewind
    from manus.state.errors import ManusError, SettingsError
    from manus.state.plan import format_plan
    from manus.threads.postgres import open_postgres
    from manus.threads.sqlite import open_sqlite

__version__ = VERSION
__all__ = [
    "PROFILES",
    "Context",
    "ManusError",
    "Profile",
    "SettingsError",
    "__version__",
    "all_executors",
    "all_profiles",
    "build_agent",
    "build_flow",
    "fork",
    "format_plan",
    "history",
    "list_messages",
    "observe_call",
    "open_postgres",
    "open_sqlite",
    "rewind",
    "send_message",
    "tool_from_function",
    "withdraw_message",
]
_MODULES = {
    "Context": "manus.config.context",
    "ManusError": "manus.state.errors",
    "PROFILES": "manus.graph.profiles",
    "Profile": "manus.config.profile",
    "SettingsError": "manus.state.errors",
    "all_executors": "manus.graph.profiles",
    "all_profiles": "manus.graph.profiles",
    "build_agent": "manus.graph.agent",
    "build_flow": "manus.graph.flow",
    "fork": "manus.runs.time_travel",
    "format_plan": "manus.state.plan",
    "list_messages": "manus.graph.inbox",
    "history": "manus.runs.time_travel",
    "rewind": "manus.runs.time_travel",
    "tool_from_function": "manus.calls.user_tools",
    "observe_call": "manus.calls.invoke",
    "open_postgres": "manus.threads.postgres",
    "open_sqlite": "manus.threads.sqlite",
    "send_message": "manus.graph.inbox",
    "withdraw_message": "manus.graph.inbox",
}
"""Module of each public name."""


def __getattr__(name: str) -> Any:
    """Import a public name on first use.

    Raises:
        AttributeError: the name does not exist.
    """
    module = _MODULES.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return the public names, imported or not."""
    return sorted({*globals(), *__all__})
