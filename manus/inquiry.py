"""How a provider's server is asked whether it knows a key and a model: nothing is generated."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple
from urllib.parse import quote

from manus.models.model_names import DEFAULT_MODEL, REPLAY, is_configured, split_spec
from manus.state.model_settings import ModelSettings

OPENAI = "https://api.openai.com/v1"
_ANTHROPIC = "https://api.anthropic.com"
_GOOGLE = "https://generativelanguage.googleapis.com"
_ANTHROPIC_VERSION = "2023-06-01"
_AZURE_VERSION = "2024-10-21"

Environment = Mapping[str, str]
Told = dict[str, Any]


class Inquiry(NamedTuple):
    """One server, one key and one model.

    Attributes:
        address: Where the paths begin.
        fields: Of the header, with the key.
        model: The path of the model alone.
        models: That of the list.
        chat: That of chat.
        incomplete: A chat request that lacks its messages.
        is_unknown: Whether an answer to `model` means that there is no such model for chat either.
    """

    address: str
    fields: dict[str, str]
    model: str
    models: str
    chat: str
    incomplete: Told
    is_unknown: Callable[[int, Told], bool]


def inquiry_of(endpoint: ModelSettings, environment: Environment) -> Inquiry | None:
    """How this endpoint is asked; None where the way of its client cannot be known from here."""
    spec = endpoint.model or DEFAULT_MODEL
    provider, name = split_spec(spec)
    make = _WAYS.get(provider)
    if make is None or spec.startswith(REPLAY) or not is_configured(endpoint):
        return None
    return make(endpoint, name, environment)


def is_about_key(status: int, told: Told) -> bool:
    """Whether a key is refused: Google does it as a bad request."""
    return status == 401 or (status == 400 and "api key" in str(told.get("message")).lower())


def _key(endpoint: ModelSettings, environment: Environment, *names: str) -> str | None:
    """The key that the client will take; None where there is none, or more than one."""
    if endpoint.api_key is not None:
        return endpoint.api_key.get_secret_value()
    found = {environment[name] for name in names if environment.get(name)}
    return found.pop() if len(found) == 1 else None


def _is_led_elsewhere(environment: Environment, key: str, *prefixes: str) -> bool:
    """Whether a client's own variables may change where, or as whom, it asks."""
    others = {name for name, value in environment.items() if value and name != key}
    return any(name.startswith(prefixes) for name in others)


def _openai(endpoint: ModelSettings, name: str, _: Environment) -> Inquiry | None:
    key = endpoint.api_key.get_secret_value() if endpoint.api_key else None
    if key is None and endpoint.base_url is None:
        return None
    return Inquiry(
        address=endpoint.base_url or OPENAI,
        fields={"Authorization": f"Bearer {key or 'none'}"},
        model=f"/models/{quote(name, safe='')}",
        models="/models",
        chat="/chat/completions",
        incomplete={"model": name},
        is_unknown=lambda status, told: status == 404 and told.get("code") == "model_not_found",
    )


def _azure(endpoint: ModelSettings, name: str, environment: Environment) -> Inquiry | None:
    key = _key(endpoint, environment, "AZURE_OPENAI_API_KEY")
    elsewhere = _is_led_elsewhere(environment, "AZURE_OPENAI_API_KEY", "AZURE_OPENAI_")
    if key is None or endpoint.base_url is None or elsewhere:
        return None
    version = f"?api-version={endpoint.api_version or _AZURE_VERSION}"
    return Inquiry(
        address=endpoint.base_url,
        fields={"api-key": key},
        model=f"/openai/models{version}",  # a deployment alone cannot be asked for with its key
        models=f"/openai/models{version}",
        chat=f"/openai/deployments/{quote(name, safe='')}/chat/completions{version}",
        incomplete={"model": name},
        is_unknown=_of_a_list,
    )


def _of_a_list(_status: int, _told: Told) -> bool:
    """A list of models says nothing of one."""
    return False


def _anthropic(endpoint: ModelSettings, name: str, environment: Environment) -> Inquiry | None:
    key = _key(endpoint, environment, "ANTHROPIC_API_KEY")
    if key is None or _is_led_elsewhere(environment, "ANTHROPIC_API_KEY", "ANTHROPIC_"):
        return None
    return Inquiry(
        address=endpoint.base_url or _ANTHROPIC,
        fields={"x-api-key": key, "anthropic-version": _ANTHROPIC_VERSION},
        model=f"/v1/models/{quote(name, safe='')}",
        models="/v1/models",
        chat="/v1/messages",
        incomplete={"model": name},
        is_unknown=lambda status, told: (
            status == 404 and str(told.get("message")).startswith(f"model: {name}")
        ),
    )


def _google(endpoint: ModelSettings, name: str, environment: Environment) -> Inquiry | None:
    key = _key(endpoint, environment, "GOOGLE_API_KEY", "GEMINI_API_KEY")
    led = ("GOOGLE_GENAI_", "GOOGLE_CLOUD_", "GOOGLE_VERTEX_", "GOOGLE_GEMINI_")
    if key is None or _is_led_elsewhere(environment, "", *led):
        return None
    path = f"/v1beta/models/{quote(name.removeprefix('models/'), safe='')}"
    return Inquiry(
        address=endpoint.base_url or _GOOGLE,
        fields={"x-goog-api-key": key},
        model=path,
        models="/v1beta/models",
        chat=f"{path}:generateContent",
        incomplete={},
        is_unknown=lambda status, told: (
            status == 404 and str(told.get("message")).startswith("models/")
        ),
    )


_WAYS: Mapping[str, Callable[[ModelSettings, str, Environment], Inquiry | None]] = {
    "openai": _openai,
    "azure": _azure,
    "anthropic": _anthropic,
    "google": _google,
}
