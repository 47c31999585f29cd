"""Convert the input and context of a caller into the form that the graph takes."""

from __future__ import annotations

import difflib
import os
import re
import uuid
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from langchain_core.messages import AnyMessage, BaseMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.runtime import get_runtime
from pydantic import ValidationError

from manus.config.context import RUNNING, Context
from manus.config.settings import load_settings
from manus.graph.pending_calls import MARK
from manus.models.providers import REPLAY
from manus.nodes.active_run import ActiveRun, RunReference
from manus.state.errors import UsageError
from manus.state.history import append_messages
from manus.state.text import sanitize, sanitize_all
from manus.threads.records.base import Records
from manus.threads.records.select import is_database, open_database

_RESERVED = re.compile(r"_.*|.*-.*|.*_ids?|(checkpoint|langgraph|user)(_.*)?")
"""Names of the keys that LangGraph, its servers and their clients put into a configuration: private
ones, HTTP headers, ids, and those about the checkpoint, the server and the user."""
NO_REQUEST = "There is no request: pass text in `request`, or messages with one from the user."

_SERVED = frozenset({"assistant_id", "langgraph_auth_user"})
"""Keys that only servers add to a configuration; Aegra adds the second."""
_SUPERSTEPS = 1_000_000
"""Recursion limit, so high that the step budget ends a run, not LangGraph."""


def to_input(graph_input: Any, *, needs_request: bool = True) -> Any:
    """Return the graph's input, with the `request` as a user message.

    `needs_request=False`: a middleware may add it.

    Raises:
        UsageError: there is no request.
    """
    if not isinstance(graph_input, dict):
        return graph_input
    values = {**graph_input, "status": "running"}
    request = values.pop("request", None)
    messages = values.get("messages")
    if request is not None:
        if not isinstance(request, str) or not request.strip():
            raise UsageError(NO_REQUEST)
        history = messages if isinstance(messages, list) else []
        message = HumanMessage(sanitize(request), id=str(uuid.uuid4()))
        values["messages"] = [*map(_to_storable, history), message]
    elif needs_request and not (
        messages and any(map(_is_request, append_messages([], [messages])))
    ):
        raise UsageError(NO_REQUEST)
    else:
        values["messages"] = _to_storable(messages or [])
    return values


def _to_storable(messages: Any) -> Any:
    """Return messages in any form with text that every store accepts."""
    if isinstance(messages, BaseMessage):
        return messages.model_copy(update={"content": sanitize_all(messages.content)})
    if isinstance(messages, list):
        return [_to_storable(message) for message in messages]
    return sanitize_all(messages)


def _is_request(message: AnyMessage) -> bool:
    if not isinstance(message, HumanMessage):
        return False
    content = message.content
    if isinstance(content, str):
        content = content.strip()
    return bool(content)


def to_context(context: Any, configurable: Collection[str] = ()) -> Context:
    """Return the context of a run; empty strings count as missing.

    Some programs pass everything in the configuration as the context, too: its reserved keys, and
    others in `configurable` that resemble none of the fields, are ignored.

    Raises:
        UsageError: a field is unknown or its value invalid.
    """
    if isinstance(context, Context):
        return context
    values = _without_empty(context or {})
    if isinstance(values, Mapping):
        values = {name: value for name, value in values.items() if _is_field(name, configurable)}
    try:
        return Context.model_validate(values)
    except ValidationError as error:
        problem = error.errors()[0]
        name = ".".join(str(part) for part in problem["loc"]) or "context"
        fields = ", ".join(Context.model_fields)
        message = f"{problem['msg'][:1].lower()}{problem['msg'][1:]}"
        raise UsageError(
            f"The run's `{name}` is not valid: {message}. Available fields: {fields}."
        ) from None


def _is_field(name: str, configurable: Collection[str]) -> bool:
    """Return whether a key of a context is one of its fields, or may be ignored.

    Raises:
        UsageError: it is neither.
    """
    if name in Context.model_fields:
        return True
    fields = list(Context.model_fields)
    plain = name.lower().replace("-", "_")
    similar = difflib.get_close_matches(plain, fields, n=1)
    is_foreign = _RESERVED.fullmatch(name) or (name in configurable and not similar)
    if is_foreign and plain not in fields:
        return False
    advice = f"; did you mean `{similar[0]}`?" if similar else "."
    raise UsageError(
        f"The run's context has no field `{name}`{advice} Available fields: {', '.join(fields)}."
    )


def _without_empty(values: Any) -> Any:
    """Drop fields with empty strings, such as those of an empty form."""
    if not isinstance(values, Mapping):
        return values
    return {name: _without_empty(value) for name, value in values.items() if value != ""}


def resolve_context(
    context: Any, schema: Any, configurable: Collection[str] = ()
) -> tuple[Context, Any]:
    """Return the context of a run, and the one that its tools get.

    `schema` is that of the graph, which may be an embedding program's. `configurable` are the keys
    of the run's configuration.
    """
    source = outer_context() if context is None else context
    is_ours = context is not None and schema is Context
    if source is None:
        return to_context(None), None
    if is_ours:
        run_context = to_context(source, configurable)
        return run_context, run_context
    return to_context(shared_fields(source)), context


def program_context(context: Context, configurable: Mapping[str, Any]) -> Context:
    """Return the context of a run that a program starts from `langgraph.json`. Blocking.

    Options that it passes in the configuration apply, and it works in the current folder unless
    `MANUS_WORKSPACE` or the settings name another.
    """
    options = shared_fields(configurable)
    if "workspace" not in load_settings(os.environ).model_fields_set:
        options = {"workspace": str(Path.cwd()), **options}
    return to_context({**options, **context.model_dump(exclude_unset=True)})


def outer_context() -> Any:
    """Return the context of the outer graph, or None."""
    try:
        runtime: Any = get_runtime()
    except (RuntimeError, KeyError):  # outside of any graph
        return None
    return getattr(runtime, "context", None)


def shared_fields(context: Any) -> Any:
    """Return the fields that another kind of context shares with `Context`."""
    if context is None or isinstance(context, Context):
        return context
    values = context if isinstance(context, Mapping) else vars(context)
    return {name: values[name] for name in Context.model_fields if values.get(name) is not None}


def served_root() -> Path:
    """Return the folder below which the server may work. Blocking.

    It is `MANUS_SERVED_ROOT`, or the folder of the configured workspace.
    """
    root = os.environ.get("MANUS_SERVED_ROOT") or load_settings(os.environ).workspace
    return Path(root).expanduser().resolve()


def find_served_records() -> Records | None:
    """Return the records in the database that MANUS_CHECKPOINT names, if it names one. Blocking.

    They are for a server whose own saver cannot hold records.
    """
    address = load_settings(os.environ).checkpoint
    return open_database(address) if is_database(address) else None


def check_served(context: Context) -> None:
    """Check that a request to the server names only files below `served_root`. Blocking.

    Raises:
        UsageError: a file is outside of it.
    """
    root = served_root()
    paths = {
        "workspace": context.workspace,
        "record": context.record,
        "reuse": context.reuse,
    }
    if context.model is not None and context.model.startswith(REPLAY):
        paths["model"] = context.model.removeprefix(REPLAY)
    for name, path in paths.items():
        if path and not Path(path).expanduser().resolve().is_relative_to(root):
            raise UsageError(
                f"The run's `{name}` is outside of {root}, the only folder in which the server "
                "works (MANUS_SERVED_ROOT sets another)."
            )


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
        "configurable": {**configurable, RUNNING: RunReference(active_run)},
        "metadata": metadata,
        "recursion_limit": recursion_limit,
    }
