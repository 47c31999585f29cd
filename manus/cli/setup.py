"""What `manus setup` asks, and where the answers are kept."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import SecretStr

from manus.cli.model_check import in_short, list_models, names_in
from manus.cli.questions import ask_text
from manus.config.files import make_private_folder, write_atomically
from manus.config.model_settings import ModelSettings
from manus.config.settings import user_file
from manus.models.provider_packages import PACKAGES
from manus.models.providers import DEFAULT_MODEL
from manus.prompts.formatting import flat
from manus.runs.configuration import is_installed
from manus.state.errors import UsageError

_LOCAL = {"Ollama": 11434, "LM Studio": 1234, "vLLM": 8000}
"""Where servers of models listen by themselves."""
_TIMEOUT = 1.0
"""Seconds that a server on this machine has to answer."""
_SHOWN = 20
"""Models of a server that are listed."""
_ASKED = ("model", "base_url", "api_key", "api_version", "workspace")
"""Settings that an answer replaces, or takes away."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A place where a model can be asked."""

    title: str
    provider: str = ""
    model: str = ""
    key: str = ""
    """The variable that may hold the key; empty where none is needed."""
    address: str = ""
    models: tuple[str, ...] = ()


_HOSTED = (
    Choice("OpenAI", model=DEFAULT_MODEL, key="OPENAI_API_KEY"),
    Choice("Anthropic", "anthropic", "claude-sonnet-4-5", "ANTHROPIC_API_KEY"),
    Choice("Google", "google", "gemini-2.5-pro", "GOOGLE_API_KEY"),
)
_OTHER = Choice("another server that speaks OpenAI's protocol", key="MANUS_API_KEY")


def ask_all() -> dict[str, Any]:
    """What the person chooses, as settings; EOFError if they leave before the end."""
    choices = [*_running(), *_HOSTED, _OTHER]
    _say("Which model shall be asked? (Azure and Bedrock: docs/models.md)")
    for number, choice in enumerate(choices, 1):
        _say(f"  {number}  {choice.title}{_note(choice)}")
    chosen = choices[int(_one_of("Number", [str(n) for n in range(1, len(choices) + 1)])) - 1]
    values: dict[str, Any] = {}
    if address := chosen.address or (_address() if chosen is _OTHER else ""):
        values["base_url"] = address
    if chosen.key:
        values |= _key(chosen)
    else:
        values["api_key"] = "none"  # or the key of another place would be sent there
    name = _model(chosen, chosen.models or _listed(chosen, values))
    values["model"] = f"{chosen.provider}:{name}" if chosen.provider else name
    if place := ask_text("Folder to work in [this one in a project, else ./workspace]: "):
        values["workspace"] = place
    _say("What waits for your yes? auto: what leaves the sandbox; ask: each change; yolo: nothing")
    values["approve"] = _one_of("Approvals", ("auto", "ask", "yolo"))
    return values


def _running() -> Iterator[Choice]:
    """The servers of models that run on this machine, and what they have."""
    import httpx

    for title, port in _LOCAL.items():
        host = f"127.0.0.1:{port}"
        if title == "Ollama" and (own := os.environ.get("OLLAMA_HOST", "")):
            host = own.rpartition("://")[2].replace("0.0.0.0", "127.0.0.1")
        address = f"http://{host if ':' in host else f'{host}:{port}'}/v1"
        try:
            reply = httpx.get(f"{address}/models", timeout=_TIMEOUT, trust_env=False)
        except (httpx.HTTPError, httpx.InvalidURL):
            continue
        if names := names_in(reply):
            yield Choice(f"{title} on this machine", address=address, models=tuple(names))


def _address() -> str:
    while not (said := ask_text("Its address: ")):
        _say("Please give its address, for example http://localhost:8000/v1.")
    return said


def _listed(choice: Choice, values: dict[str, Any]) -> tuple[str, ...]:
    """Return the models that a compatible server lists; none where it cannot be asked yet."""
    key = values.get("api_key") or os.environ.get(choice.key) or None
    if choice.provider or (key is None and choice is not _OTHER):
        return ()
    endpoint = ModelSettings(base_url=values.get("base_url"), api_key=key and SecretStr(key))
    models = list_models(endpoint)
    if models.problem:
        _say(flat(f"There is no list of its models: {models.problem}."))
    return models.names


def _model(choice: Choice, listed: Sequence[str]) -> str:
    """Ask which model is meant, among those that are listed or any other; never an empty name."""
    known = choice.model or next(iter(listed), "")
    if listed:
        _say(flat(f"It has: {in_short(listed, _SHOWN)} (Tab completes)"))
    while True:
        name = ask_text(f"Model{f' [{known}]' if known else ''}: ", choices=listed) or known
        if name:
            return name
        _say("Please name a model.")


def _note(choice: Choice) -> str:
    if choice.models:
        return flat(f": {', '.join(choice.models[:4])}{' …' if choice.models[4:] else ''}")
    package = PACKAGES.get(choice.provider)
    if package is not None and not is_installed(package.import_name):
        return f" (needs `pip install {package.package}`)"
    return f" ({choice.key} is set)" if os.environ.get(choice.key) else ""


def _key(choice: Choice) -> dict[str, str]:
    """The key to be kept; none where a variable holds it."""
    if os.environ.get(choice.key):
        _say(f"The key is taken from {choice.key}, and not kept.")
        return {}
    _say(f"The key is kept in {user_file()}, which only you can read.")
    given = ask_text(f"Key (empty: {choice.key} will be set): ", hidden=True)
    return {"api_key": given} if given else {}


def _one_of(question: str, known: Sequence[str]) -> str:
    while True:
        said = ask_text(f"{question} [{known[0]}]: ", choices=known) or known[0]
        if said in known:
            return said
        _say(f"Please say {', '.join(known[:-1])} or {known[-1]}.")


def keep(values: dict[str, Any]) -> None:
    """Write the settings over those of the user's file; all others in it stay. Blocking.

    Raises:
        UsageError: the file cannot be read or written.
    """
    import tomlkit

    file = user_file()
    try:
        make_private_folder(file.parent)
        there = tomlkit.parse(file.read_text("utf-8")) if file.exists() else tomlkit.document()
        for name in _ASKED:
            there.pop(name, None)
        there.setdefault("approve", {})["mode"] = values.pop("approve")
        there.update(values)
        write_atomically(file, tomlkit.dumps(there).encode(), 0o600, keep_mode=False)
    except (OSError, tomlkit.exceptions.ParseError) as error:
        raise UsageError(f"{file} cannot be changed ({error}); mend or move it first.") from None
    _say(f"\nKept in {file}.")


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")
