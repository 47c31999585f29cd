"""Whether the selected model works: its server's list of models, one tool call, its window."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from manus.cli.findings import Finding, State
from manus.config.model_settings import ModelSettings, shown_address, split_spec
from manus.config.settings import Settings
from manus.models.providers import DEFAULT_MODEL, REPLAY, address_of, key_of
from manus.models.server_window import SMALL
from manus.runs.configuration import check_model
from manus.state.errors import ModelError, ModelUnavailableError, SettingsError

if TYPE_CHECKING:
    import httpx

    from manus.models.server_window import ServerWindow

OPENAI = "https://api.openai.com/v1"
_LIST_TIMEOUT = 3.0
"""Seconds that a server has for its list of models."""
_TRIAL_TIMEOUT = 120.0
"""Seconds that a model has for the trial: a local server loads it first."""
_TRIES = 2
"""How often a model is asked for a tool call: small ones do not make one each time."""
_LISTED = 5
_PROMPTED = (
    "Choose a model that can call tools, or set MANUS_TOOL_CALLING=prompted: tools are then "
    "described in the prompt."
)
_TOOL = {
    "type": "function",
    "function": {
        "name": "report",
        "description": "Report a word.",
        "parameters": {
            "type": "object",
            "properties": {"word": {"type": "string", "description": "The word"}},
            "required": ["word"],
        },
    },
}
_REQUEST = "Call the tool `report` with the word `ready`. Say nothing else."


class _NoToolCallError(ModelError):
    """The model answered and called no tool."""


@dataclass(frozen=True, slots=True)
class Models:
    """What a server says of its models."""

    names: tuple[str, ...] = ()
    problem: str = ""
    """Why there is no list."""
    remedy: str = ""
    is_away: bool = False
    """Whether the server may be there later."""


def find_model(settings: Settings) -> Finding:
    """Check the main model: settings, server, one tool call, context window."""
    found = partial(Finding, "model")
    endpoint = settings.for_role("main")
    try:
        check_model(endpoint)
    except SettingsError as error:
        text, _, remedy = str(error).partition(": ")
        return found("missing", text, remedy[:1].upper() + remedy[1:])
    spec = endpoint.model or DEFAULT_MODEL
    provider, name = split_spec(spec)
    if spec.startswith(REPLAY):
        return found("ok", f"plays the recording {spec.removeprefix(REPLAY)}")
    if provider != "openai":
        return _tried(endpoint, Models())
    if endpoint.api_key is None and endpoint.base_url is None:
        return found("missing", f"{spec} has no key", "Set OPENAI_API_KEY or MANUS_API_KEY.")
    models = list_models(endpoint)
    if models.problem:
        state: State = "warning" if models.is_away else "missing"
        return Finding("model", state, f"{name}: {models.problem}", models.remedy)
    return _tried(endpoint, models)


def list_models(endpoint: ModelSettings) -> Models:
    """Ask a compatible server for its models. Blocking."""
    import httpx

    base = (endpoint.base_url or OPENAI).rstrip("/")
    key = endpoint.api_key.get_secret_value() if endpoint.api_key else "none"
    address = shown_address(base)
    try:
        fields = {"Authorization": f"Bearer {key}"}
        reply = httpx.get(f"{base}/models", headers=fields, timeout=_LIST_TIMEOUT)
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
        reason = (str(error) or type(error).__name__).replace(key, "…")
        remedy = "Start the server, or check MANUS_BASE_URL and the network."
        return Models((), f"{address} cannot be reached ({reason})", remedy)
    if (code := reply.status_code) in (401, 403):
        check = f"Check {key_of(endpoint.model or DEFAULT_MODEL)}."
        return Models((), f"{address} refuses the key ({code})", check)
    if reply.is_server_error:
        return Models((), f"{address} answers {code}", "Try again later.", is_away=True)
    return Models(tuple(names_in(reply)))


def names_in(reply: httpx.Response) -> list[str]:
    """The names of a list of models; none of what is no list."""
    try:
        return [str(model["id"]) for model in reply.json()["data"]]
    except (KeyError, TypeError, ValueError):
        return []


def in_short(names: Sequence[str], most: int = _LISTED) -> str:
    """Return the first of some names, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{', '.join(names[:most])}{more}"


def _tried(endpoint: ModelSettings, models: Models) -> Finding:
    """Return what came of one tool call of the model, and how large its window is."""
    name = split_spec(endpoint.model or DEFAULT_MODEL)[1]
    label = f"{name} at {address_of(endpoint)}"
    began = time.monotonic()
    if sys.stderr.isatty():
        sys.stderr.write(f"Asking {label} for a tool call …\n")
    try:
        window = asyncio.run(_try_tool_call(endpoint))
    except ModelUnavailableError as error:
        state: State = "missing" if "cannot be reached" in str(error) else "warning"
        return Finding("model", state, str(error), "Start the server, or try again later.")
    except _NoToolCallError as error:
        return Finding("model", "missing", f"{label} {error}", _PROMPTED)
    except (ModelError, SettingsError) as error:
        return Finding("model", "missing", str(error), _remedy_for(str(error), models))
    text = f"{label} made a tool call in {time.monotonic() - began:.1f} s"
    size = window.size if window is not None else None
    if size is not None:
        text += f"; it has a context window of {size:,} tokens"
    if window is not None and size is not None and size < SMALL:
        from manus.models.window_watch import advice_for

        advice = f"{advice_for(endpoint, window)}."
        return Finding("model", "warning", f"{text}, which leaves little room for work", advice)
    if models.names and name not in models.names and f"{name}:latest" not in models.names:
        remedy = "It may have answered with another one: set MANUS_MODEL to one of the list."
        listed = f", and is not in its list: {in_short(models.names)}"
        return Finding("model", "warning", text + listed, remedy)
    return Finding("model", "ok", text)


def _remedy_for(problem: str, models: Models) -> str:
    if "support tools" in problem or "tool choice" in problem or "tool-call-parser" in problem:
        return _PROMPTED
    return f"It has: {in_short(models.names)}." if models.names else ""


async def _try_tool_call(endpoint: ModelSettings) -> ServerWindow | None:
    """Have the model call a tool; return what its server says of its window then.

    Raises:
        ModelError: it cannot be asked, or calls no tool.
        SettingsError: its chat model cannot be built.
    """
    from manus.models.chat_models import build_model
    from manus.models.errors import explain
    from manus.models.window_watch import look_up_window

    model = await build_model(endpoint, Path())
    try:
        async with asyncio.timeout(_TRIAL_TIMEOUT):
            for _ in range(_TRIES):
                if await _calls_the_tool(model, endpoint):
                    return await look_up_window(endpoint, again=True)
    except TimeoutError:
        raise ModelUnavailableError(
            f"The model server at {address_of(endpoint)} gave no reply in {_TRIAL_TIMEOUT:.0f} s."
        ) from None
    except ModelError:
        raise
    except Exception as error:  # each client has its own
        raise explain(error, endpoint) from error
    raise _NoToolCallError("answered, and called no tool when it was asked to")


async def _calls_the_tool(model: Any, endpoint: ModelSettings) -> bool:
    from langchain_core.messages import HumanMessage, SystemMessage

    from manus.models.endpoint_call import ModelRequest, ask_endpoint

    request = [SystemMessage("You work with tools."), HumanMessage(_REQUEST)]
    model_request = ModelRequest("main", request, [_TOOL], "auto", quiet=True)
    reply = await ask_endpoint(model, endpoint, model_request)
    return any(call["name"] == "report" for call in reply.tool_calls)
