"""Ask the questions of `manus setup`, and store the answers."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from manus.cli.choices import ask_yes
from manus.cli.local_server import find_local_servers
from manus.cli.model_check import ModelList, list_models
from manus.cli.notes import print_note
from manus.cli.questions import ask_text
from manus.config.model_settings import ENDPOINT, ModelSettings, shown_address, split_spec
from manus.config.provider_table import DEFAULT_PROVIDER, PROVIDERS
from manus.config.settings import user_file
from manus.prompts.formatting import flat, join_names
from manus.runs.configuration import is_installed

_MAX_LISTED = 20
"""Models."""


@dataclass(frozen=True, slots=True)
class ModelSource:
    """A provider or server to choose from."""

    title: str
    provider: str = ""
    model: str = ""
    key: str = ""
    """Environment variable for the API key; empty if none is needed."""
    address: str = ""
    models: tuple[str, ...] = ()
    endpoint: Mapping[str, str] | None = None
    """Stored address and key, which stay; None to ask for them."""


_HOSTED = tuple(
    ModelSource(each.title, "" if name == DEFAULT_PROVIDER else name, each.suggestion, each.key)
    for name, each in PROVIDERS.items()
    if each.title
)
_OTHER = ModelSource("another OpenAI-compatible server", key="MANUS_API_KEY")


def ask_settings() -> dict[str, Any]:
    """Ask the questions and return settings; raise EOFError if the user leaves."""
    configured = _read_configured()
    choices = [configured] if configured else []
    for server in find_local_servers():
        title = f"{server.title} on this machine"
        if configured is None or server.address != configured.address:
            choices.append(ModelSource(title, address=server.address, models=server.models))
    choices += [*_HOSTED, _OTHER]
    _say("Which model should be used? (All others: docs/models.md)")
    for number, choice in enumerate(choices, 1):
        _say(f"  {number}  {choice.title}{_note(choice)}")
    numbers = [str(number) for number in range(1, len(choices) + 1)]
    selected = choices[int(_ask_choice("Number", numbers)) - 1]
    values, names = _ask_endpoint(selected)
    name = _ask_model(selected, names)
    values["model"] = f"{selected.provider}:{name}" if selected.provider else name
    if folder := _ask_folder():
        values["workspace"] = folder
    _say(
        "What needs your approval? auto: what leaves the sandbox; ask: every change; yolo: nothing"
    )
    values["approve"] = _ask_choice("Approvals", ("auto", "ask", "yolo"))
    return values


def _read_configured() -> ModelSource | None:
    """Return what the user's own settings use; None without a model."""
    try:
        stored = tomllib.loads(user_file().read_text("utf-8"))
    except (OSError, ValueError):  # storing the answers reports it
        return None
    if not isinstance(stored.get("model"), str):
        return None
    provider, name = split_spec(stored["model"])
    endpoint = {key: str(stored[key]) for key in ENDPOINT if key in stored}
    address = endpoint.get("base_url", "")
    server = f" at {shown_address(address)}" if address else ""
    return ModelSource(
        f"{name}{server} (as configured)",
        "" if provider == DEFAULT_PROVIDER else provider,
        name,
        address=address,
        endpoint=endpoint,
    )


def _ask_endpoint(choice: ModelSource) -> tuple[dict[str, Any], Sequence[str]]:
    """Return the address and key, and the models of the server; ask again if it refuses them."""
    address = choice.address
    while True:
        values: dict[str, Any] = {}
        if choice is _OTHER:
            address = _ask_address(address)
        if address:
            values["base_url"] = address
        if choice.endpoint is not None:
            values |= choice.endpoint
        else:
            # without a key of its own, that of another server would be sent there
            values |= _ask_key(choice) if choice.key else {"api_key": "none"}
        models = ModelList(choice.models) if choice.models else _list_models(choice, values)
        if not models.problem:
            return values, models.names
        _say(flat(f"Cannot list its models: {models.problem}. {models.remedy}"))
        if not ask_yes("try again", "keep it"):
            return values, ()


def _ask_address(default: str) -> str:
    suffix = f" [{default}]" if default else ""
    while not (address := ask_text(f"Address{suffix}: ") or default):
        _say("Please enter its address, for example http://localhost:8000/v1.")
    return address


def _ask_folder() -> str:
    """Ask for a folder until it can be created or written to; an empty answer means none."""
    while folder := ask_text("Folder to work in [this folder in a project, else ./workspace]: "):
        path = Path(folder).expanduser().absolute()
        existing = next(each for each in (path, *path.parents) if each.exists())
        if existing.is_dir() and os.access(existing, os.W_OK | os.X_OK):
            break
        _say(f"{existing} is not a folder that you can write to.")
    return folder


def _list_models(choice: ModelSource, values: dict[str, Any]) -> ModelList:
    """Return the models that a compatible server lists; none if it has no address."""
    key = values.get("api_key") or os.environ.get(choice.key) or None
    if choice.provider or (key is None and choice is not _OTHER):
        return ModelList()
    return list_models(
        ModelSettings(base_url=values.get("base_url"), api_key=key and SecretStr(key))
    )


def _ask_model(choice: ModelSource, listed: Sequence[str]) -> str:
    """Ask for a model, listed or not; never return an empty name."""
    default = choice.model or next(iter(listed), "")
    if listed:
        _say(flat(f"Available: {join_names(listed, _MAX_LISTED)} (Tab completes)"))
    while True:
        name = ask_text(f"Model{f' [{default}]' if default else ''}: ", choices=listed) or default
        if name:
            return name
        _say("Please enter a model name.")


def _note(choice: ModelSource) -> str:
    if choice.models:
        names = ", ".join(choice.models[:4])
        return flat(f": {names} …" if choice.models[4:] else f": {names}")
    package = PROVIDERS.get(choice.provider)
    if package is not None and not is_installed(package.import_name):
        return f" (needs `pip install {package.package}`)"
    return f" ({choice.key} is set)" if os.environ.get(choice.key) else ""


def _ask_key(choice: ModelSource) -> dict[str, str]:
    """Return the API key to store; empty if a variable contains it."""
    if os.environ.get(choice.key):
        _say(f"The API key is read from {choice.key} and not stored.")
        return {}
    _say(f"The API key is stored in {user_file()}, which only you can read.")
    key = ask_text(f"API key (leave empty to set {choice.key} yourself): ", hidden=True)
    return {"api_key": key} if key else {}


def _ask_choice(question: str, choices: Sequence[str]) -> str:
    while True:
        answer = ask_text(f"{question} [{choices[0]}]: ", choices=choices) or choices[0]
        if answer in choices:
            return answer
        _say(f"Please enter {', '.join(choices[:-1])} or {choices[-1]}.")


def _say(text: str) -> None:
    print_note(text)
