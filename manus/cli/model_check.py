"""Check the selected model: the server's list of models, one tool call, the context window."""

from __future__ import annotations

import asyncio
import sys
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from manus.cli.findings import CheckResult, State
from manus.cli.notes import print_note
from manus.config.model_settings import ModelSettings, shown_address, split_spec
from manus.config.provider_table import DEFAULT_ADDRESS, DEFAULT_MODEL, DEFAULT_PROVIDER
from manus.config.settings import Settings
from manus.models.providers import REPLAY, get_address, name_key_variables
from manus.models.refusals import as_setting, join_words, learned_words
from manus.models.server_window import SMALL, ServerWindow, advise_window, watch_window
from manus.prompts.formatting import join_names
from manus.runs.configuration import check_model
from manus.state.errors import ModelError, ModelUnavailableError, SettingsError
from manus.state.messages import call_ids
from manus.state.replies import CALLS_IN_TEXT

if TYPE_CHECKING:
    import httpx
    from langchain_core.messages import AIMessage, BaseMessage

_LIST_TIMEOUT = 3.0
"""Seconds."""
_TRIAL_TIMEOUT = 120.0
"""Seconds for the trial call; a local server may have to load the model first."""
_ATTEMPTS = 2
"""Requests for a tool call; small models do not make one every time."""
_RESULT = "Reported."
_NOTE = "That was a test. Reply with the word `done`."
_MAX_NAMES = 5
_PROMPTED = (
    "Choose a model that can call tools, or set MANUS_TOOL_CALLING=prompted, which describes the "
    "tools in the prompt."
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
    """Raised when the model replies without a tool call."""


@dataclass(frozen=True, slots=True)
class ModelList:
    """The models that a server lists."""

    names: tuple[str, ...] = ()
    problem: str = ""
    """Why the request failed; empty on success."""
    remedy: str = ""
    is_unavailable: bool = False
    """Whether the server failed temporarily."""


def check_main_model(settings: Settings) -> CheckResult:
    """Check the main model: settings, server, one tool call, context window."""
    result = partial(CheckResult, "model")
    endpoint = settings.for_role("main")
    try:
        check_model(endpoint)
    except SettingsError as error:
        text, _, remedy = str(error).partition(": ")
        return result("missing", text, remedy[:1].upper() + remedy[1:])
    spec = endpoint.model or DEFAULT_MODEL
    provider, name = split_spec(spec)
    if spec.startswith(REPLAY):
        return result("ok", f"replays the recording {spec.removeprefix(REPLAY)}")
    if provider != DEFAULT_PROVIDER:
        return _try_model(endpoint, ModelList())
    if endpoint.api_key is None and endpoint.base_url is None:
        return result("missing", f"{spec} has no API key", f"Set {name_key_variables(spec)}.")
    models = list_models(endpoint)
    if models.problem:
        state: State = "warning" if models.is_unavailable else "missing"
        return CheckResult("model", state, f"{name}: {models.problem}", models.remedy)
    return _try_model(endpoint, models)


def list_models(endpoint: ModelSettings) -> ModelList:
    """Ask an OpenAI-compatible server for its models. Blocking."""
    import httpx

    base = (endpoint.base_url or DEFAULT_ADDRESS).rstrip("/")
    key = endpoint.api_key.get_secret_value() if endpoint.api_key else "none"
    address = shown_address(base)
    try:
        fields = {"Authorization": f"Bearer {key}"}
        reply = httpx.get(f"{base}/models", headers=fields, timeout=_LIST_TIMEOUT)
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
        reason = (str(error) or type(error).__name__).replace(key, "…")
        remedy = "Start the server, or check MANUS_BASE_URL and the network."
        return ModelList((), f"{address} cannot be reached ({reason})", remedy)
    if (code := reply.status_code) in (401, 403):
        check = f"Check {name_key_variables(endpoint.model or DEFAULT_MODEL)}."
        return ModelList((), f"{address} rejected the API key ({code})", check)
    if reply.is_server_error:
        return ModelList(
            (), f"{address} responded with status {code}", "Try again later.", is_unavailable=True
        )
    return ModelList(tuple(parse_model_names(reply)))


def parse_model_names(reply: httpx.Response) -> list[str]:
    """Return the model names of a response; empty if it is not a list of models."""
    try:
        return [str(model["id"]) for model in reply.json()["data"]]
    except (KeyError, TypeError, ValueError):
        return []


def _try_model(endpoint: ModelSettings, models: ModelList) -> CheckResult:
    """Ask the model for one tool call; return the result with the size of its context window."""
    name = split_spec(endpoint.model or DEFAULT_MODEL)[1]
    label = f"{name} at {get_address(endpoint)}"
    start = time.monotonic()
    if sys.stderr.isatty():
        print_note(f"Requesting a tool call from {label} …")
    try:
        window, is_in_text = asyncio.run(_try_tool_call(endpoint))
    except ModelUnavailableError as error:
        state: State = "missing" if "cannot be reached" in str(error) else "warning"
        return CheckResult("model", state, str(error), "Start the server, or try again later.")
    except _NoToolCallError as error:
        return CheckResult("model", "missing", f"{label} {error}", _PROMPTED)
    except (ModelError, SettingsError) as error:
        return CheckResult("model", "missing", str(error), _remedy_for(str(error), models))
    text = f"{label} made a tool call in {time.monotonic() - start:.1f} s"
    size = window.size
    if size is not None:
        text += f"; it has a context window of {size:,} tokens"
    refused = learned_words(endpoint)
    if is_in_text:
        advice = window.advise("calls")
        text += "; the call arrived as text, which the server does not parse"
        return CheckResult("model", "warning", text, f"{advice[:1].upper()}{advice[1:]}.")
    if refused:
        text += f"; it refuses {join_words(refused)}, which is therefore not sent"
    if size is not None and size < SMALL:
        advice = f"{advise_window(endpoint, window)}."
        return CheckResult("model", "warning", f"{text}, which is small for agent work", advice)
    if models.names and name not in models.names and f"{name}:latest" not in models.names:
        remedy = "Another model may have replied; set MANUS_MODEL to one in the list."
        listed = f"; the server's list does not include it: {join_names(models.names, _MAX_NAMES)}"
        return CheckResult("model", "warning", text + listed, remedy)
    if refused:
        remedy = f"Set {as_setting(refused)} to save the refused requests at each start."
        return CheckResult("model", "warning" if "tools" in refused else "ok", text, remedy)
    return CheckResult("model", "ok", text)


def _remedy_for(problem: str, models: ModelList) -> str:
    if "support tools" in problem or "tool choice" in problem or "tool-call-parser" in problem:
        return _PROMPTED
    return f"Available models: {join_names(models.names, _MAX_NAMES)}." if models.names else ""


async def _try_tool_call(endpoint: ModelSettings) -> tuple[ServerWindow, bool]:
    """Make the model call a tool, and reply to the result.

    Return the reported context window, and whether the call arrived as text.

    Raises:
        ModelError: the request fails, or the reply has no tool call.
        SettingsError: the chat model cannot be built.
    """
    from manus.models.chat_models import build_model
    from manus.models.errors import explain

    model = await build_model(endpoint, Path())
    try:
        async with asyncio.timeout(_TRIAL_TIMEOUT):
            for _ in range(_ATTEMPTS):
                reply = await _request_call(model, endpoint)
                if reply is not None:
                    window = await watch_window(endpoint).look_up(again=True)
                    return window, CALLS_IN_TEXT in reply.additional_kwargs
    except TimeoutError:
        raise ModelUnavailableError(
            f"The model server at {get_address(endpoint)} did not reply within "
            f"{_TRIAL_TIMEOUT:.0f} s."
        ) from None
    except ModelError:
        raise
    except Exception as error:  # each client has its own error types
        raise explain(error, endpoint) from error
    raise _NoToolCallError("replied without the requested tool call")


async def _request_call(model: Any, endpoint: ModelSettings) -> AIMessage | None:
    """Return the reply that calls the tool, if there is one; send the result as an agent does."""
    from langchain_core.messages import HumanMessage, SystemMessage, ToolMessage

    from manus.models.endpoint_call import ask_endpoint
    from manus.models.model_request import ModelRequest

    request: list[BaseMessage] = [SystemMessage("You work with tools."), HumanMessage(_REQUEST)]
    model_request = ModelRequest("main", request, [_TOOL], "auto", quiet=True)
    reply = await ask_endpoint(model, endpoint, model_request)
    if not any(call["name"] == "report" for call in reply.tool_calls):
        return None
    results = [ToolMessage(_RESULT, tool_call_id=call_id) for call_id in call_ids(reply)]
    request += [reply, *results, HumanMessage(_NOTE)]
    await ask_endpoint(model, endpoint, ModelRequest("main", request, [_TOOL], "auto", quiet=True))
    return reply
